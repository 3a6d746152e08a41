"""Servers that ask who is there: a broker with TLS, SASL and an authorizer, a token endpoint, certificates for all of them."""
