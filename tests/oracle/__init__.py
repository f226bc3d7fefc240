"""The oracle: what a script means, worked out slowly from the definitions, instant by instant."""
