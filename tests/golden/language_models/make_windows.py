"""Writes mistral_window and qwen2_mixed beside this file: small models of transformers 5.24 with drawn weights, whose
attention sees a window shorter than the text, in all layers or in some, the scores of a text, and what follows its first
five tokens when the best one is taken each time, without a cache."""

import pathlib

import numpy as np
import torch
from transformers import MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM

SIZES = dict(vocab_size=13, hidden_size=8, intermediate_size=10, num_attention_heads=2, num_key_value_heads=1,
             max_position_embeddings=40)


def write(name, model, seed):
    generator = torch.Generator().manual_seed(seed)
    for key, parameter in model.named_parameters():
        drawn = 0.4 * torch.randn(parameter.shape, generator=generator)
        parameter.data = 1 + drawn if "norm" in key else drawn
    folder = pathlib.Path(__file__).parent / name
    model.eval().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    ids = torch.randint(0, SIZES["vocab_size"], (1, 40), generator=generator)
    text = ids[:, :5]
    with torch.no_grad():
        logits = model(ids, use_cache=False).logits
        for _ in range(20):
            text = torch.cat([text, model(text, use_cache=False).logits[:, -1:].argmax(-1)], 1)
    np.savez_compressed(folder / "scores.npz", ids=ids.numpy().astype(np.int32), logits=logits.numpy(),
                        greedy=text[0, 5:].numpy().astype(np.int32))


write("mistral_window", MistralForCausalLM(MistralConfig(**SIZES, num_hidden_layers=2, sliding_window=7)), 11)
write("qwen2_mixed", Qwen2ForCausalLM(Qwen2Config(**SIZES, num_hidden_layers=3, use_sliding_window=True,
                                                  sliding_window=5, max_window_layers=1, tie_word_embeddings=True)), 13)
