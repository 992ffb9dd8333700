import helper
NAME = "part of two with " + helper.NAME
