NAME = "loaded"
