"""`python -m flashfit trace script.py`: which attention a program calls, who computes it, and what flashfit would do.

The program runs as it is. Its calls of PyTorch's scaled_dot_product_attention, of flash-attn and of xformers are seen
on their way, and go on to what they were for.
"""
