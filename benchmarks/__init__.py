"""What things cost, as ratios from one run; `make bench` prints them."""
