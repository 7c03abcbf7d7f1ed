"""Lines and ranking: any line of the memory is found again."""
