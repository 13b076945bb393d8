from transformers import AutoModelForCausalLM, AutoTokenizer

from helpers import heads

name = "Qwen/Qwen3-0.6B"  # or a Llama, Mistral, Gemma, Phi-3, GPT-NeoX, GPT-2 ...
model, tokenizer = AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name)
heads.remove(model, [("decoder", 0, 1), ("decoder", 1, 2), ("decoder", 1, 3)])  # layer, query head; both count from zero
heads.save(model, "pruned")
tokenizer.save_pretrained("pruned")
