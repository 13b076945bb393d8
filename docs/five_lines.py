from helpers import heads, measures, models
from helpers.measures.worth import mean_loss
from helpers.runs import passages

model, tokenizer = models.load("smollm2")  # or a folder, or a Hub name
dev, test = passages.halves(model, tokenizer)  # English that scikit-learn ships, or a text file of yours
table = measures.head_table(model, dev, names=["gradient, example", "confidence", "positional"])
print(table.nlargest(3, "gradient, example").round(2))  # the heads of most gradient importance
print(f"loss {mean_loss(model, test):.3f} with all {len(table)} heads")
heads.remove(model, table["gradient, example"].nsmallest(len(table) // 10).index)  # a tenth of them, for good
print(f"loss {mean_loss(model, test):.3f} with {len(heads.index(model))}")
prompt = tokenizer("The capital of France is", return_tensors="pt")
print(tokenizer.decode(model.generate(**prompt, max_new_tokens=20, do_sample=False)[0]))
