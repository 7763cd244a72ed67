"""A model of Transformers on flashfit. This one is tiny and random; from_pretrained takes the same name."""

import torch
from flashfit.integrations import transformers as fit
from transformers import LlamaConfig, LlamaForCausalLM

fit.install()
config = LlamaConfig(
    vocab_size=100,
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    pad_token_id=0,
    attn_implementation="fit_attention",
)
model = LlamaForCausalLM(config).eval()
prompt = torch.tensor([[5, 17, 23, 42]])
print(model.generate(prompt, max_new_tokens=8, do_sample=False).tolist())
print(*fit.log(), sep="\n")
