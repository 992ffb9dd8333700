import helper
NAME = "part of one with " + helper.NAME
