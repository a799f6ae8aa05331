Bidentity19_0JB
?Â	¡¾