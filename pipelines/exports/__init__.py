"""What leaves the project: data cards, and samples of questions."""
