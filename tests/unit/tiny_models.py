"""Tiny real models with seeded random weights, and padded batches for them: what the unit tests run on."""

import torch
import transformers as hf
from transformers.models.t5.modeling_t5 import T5LayerNorm

VOCABULARY, PAD, EOS = 60, 0, 1
LENGTHS = (7, 4, 6)  # tokens of the examples of a batch; the shorter ones are padded on the right
TARGETS = (5, 6, 3)

_SPECIAL = {"vocab_size": VOCABULARY, "pad_token_id": PAD, "eos_token_id": EOS}
_SEQ2SEQ = _SPECIAL | {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 64, "bos_token_id": EOS,
    "forced_eos_token_id": None, "decoder_start_token_id": PAD,
}  # fmt: skip
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4}
_OPT = {
    "hidden_size": 32, "word_embed_proj_dim": 32, "ffn_dim": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 64, "bos_token_id": EOS,
}  # fmt: skip
_GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": EOS}
FAMILIES = {
    "marian": (hf.MarianConfig, hf.MarianMTModel, _SEQ2SEQ), "bart": (hf.BartConfig, hf.BartForConditionalGeneration, _SEQ2SEQ),
    "mbart": (hf.MBartConfig, hf.MBartForConditionalGeneration, _SEQ2SEQ),
    "pegasus": (hf.PegasusConfig, hf.PegasusForConditionalGeneration, _SEQ2SEQ),
    "t5": (hf.T5Config, hf.T5ForConditionalGeneration, _SPECIAL | _T5 | {"decoder_start_token_id": PAD}),
    "opt": (hf.OPTConfig, hf.OPTForCausalLM, _SPECIAL | _OPT), "gpt2": (hf.GPT2Config, hf.GPT2LMHeadModel, _SPECIAL | _GPT2),
}  # fmt: skip
_ALONE = _SPECIAL | {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 66, "bos_token_id": EOS,
}  # fmt: skip
_GROUPED = _ALONE | {"num_key_value_heads": 2}
_GEMMA = _GROUPED | {"head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 3}
TODAY = {  # grouped queries, rotary positions, gated feed-forwards; encoders alone
    "llama": (hf.LlamaConfig, hf.LlamaForCausalLM, _GROUPED),
    "mistral": (hf.MistralConfig, hf.MistralForCausalLM, _GROUPED | {"sliding_window": 3}),
    "qwen2": (hf.Qwen2Config, hf.Qwen2ForCausalLM, _GROUPED),
    "qwen3": (hf.Qwen3Config, hf.Qwen3ForCausalLM, _GROUPED | {"head_dim": 8}),
    "gemma2": (hf.Gemma2Config, hf.Gemma2ForCausalLM, _GEMMA | {"attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0}),
    "gemma3": (hf.Gemma3TextConfig, hf.Gemma3ForCausalLM, _GEMMA | {"layer_types": ["sliding_attention", "full_attention"]}),
    "phi3": (hf.Phi3Config, hf.Phi3ForCausalLM, _GROUPED),
    "gpt_neox": (hf.GPTNeoXConfig, hf.GPTNeoXForCausalLM, _ALONE),
    "bert": (hf.BertConfig, hf.BertForMaskedLM, _ALONE),
    "roberta": (hf.RobertaConfig, hf.RobertaForMaskedLM, _ALONE),
}
EVERY = (*FAMILIES, *TODAY)
EAGER_ALONE = ("gemma2",)  # the library's SDPA has no cap on scores
SEQ2SEQ = ("marian", "bart", "mbart", "pegasus", "t5")


def tiny_model(family: str, seed: int = 0, attention: str = "sdpa", **settings) -> hf.PreTrainedModel:
    """A model of the family with 2 layers of 4 heads of 8 numbers, in evaluation mode.

    The weights are larger than at the usual start, so that attention is far from uniform; biases are not zero.
    """
    config_class, model_class, defaults = (FAMILIES | TODAY)[family]
    model = model_class(config_class(**{**defaults, **settings}, attn_implementation=attention))
    generator = torch.Generator().manual_seed(seed)
    for name, weight in model.named_parameters():
        if weight.requires_grad and "norm" not in name.lower() and "ln_" not in name:
            with torch.no_grad():
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.3)
    if model.can_generate():
        model.generation_config.pad_token_id = PAD
    return model.eval()


def tiny_batch(family: str, seed: int = 1, labels: bool = True) -> dict[str, torch.Tensor]:
    """Three examples of unequal lengths as a collator yields them: input_ids, attention_mask and labels."""
    generator = torch.Generator().manual_seed(seed)
    source, mask = _padded(LENGTHS, generator)
    batch = {"input_ids": source, "attention_mask": mask}
    if labels and family in SEQ2SEQ:
        target, target_mask = _padded(TARGETS, generator)
        batch["decoder_attention_mask"] = target_mask
        batch["labels"] = target.masked_fill(target_mask == 0, -100)
    elif labels:
        batch["labels"] = source.masked_fill(mask == 0, -100)
    return batch


def _padded(lengths: tuple[int, ...], generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    tokens = torch.randint(2, VOCABULARY, mask.shape, generator=generator)
    return tokens * mask, mask


def left(batch, names=None):
    """The same sentences with their padding before them: in all tensors of a batch, or in some."""
    moved = {name: values.clone() for name, values in batch.items()}
    for row, length in enumerate(LENGTHS[: len(batch["input_ids"])]):
        for name in names or batch:
            moved[name][row] = batch[name][row].roll(batch[name].shape[1] - length)
    return moved


def singles(batch):
    """Each sentence alone, without padding."""
    lengths = LENGTHS[: len(batch["input_ids"])]
    return [{name: values[row : row + 1, :length] for name, values in batch.items()} for row, length in enumerate(lengths)]


def logits(model, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    with torch.no_grad():
        return model(**batch).logits


def prompts(family: str) -> dict[str, torch.Tensor]:
    """What to generate from; a model that continues a prompt needs its padding on the left."""
    batch = tiny_batch(family, labels=False)
    return batch if family in SEQ2SEQ else {name: values.flip(1) for name, values in batch.items()}


def generate(model, batch: dict[str, torch.Tensor], **options) -> torch.Tensor:
    """Six new tokens, none twice, else tiny models say one thing only."""
    return model.generate(**batch, **{"max_new_tokens": 6, "do_sample": False, "no_repeat_ngram_size": 1, **options})


def exact_norms(monkeypatch) -> None:
    """T5 computes its norms in single precision whatever the model, too coarse for differences."""
    exact = lambda norm, x: norm.weight * x * (x.square().mean(-1, True) + 1e-6) ** -0.5  # noqa: E731
    monkeypatch.setattr(T5LayerNorm, "forward", exact)
