// Nothing: a target needs a source to carry the precompiled headers (EcLibrary.cmake).
