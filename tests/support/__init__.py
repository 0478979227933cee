"""What tests share: brute force, random problems, ways in, servers, the command line. No test imports a test."""
