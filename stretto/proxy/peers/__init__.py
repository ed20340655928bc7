"""The proxies of one host session: how they meet, and what they tell and do for each other."""
