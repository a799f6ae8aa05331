BlastJ¬@~]Q@ÒøÏ?
EX?