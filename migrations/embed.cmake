# Every migration and function file is compiled into the binary.
