"""The launcher: how the desktop's menus show and start the program."""
