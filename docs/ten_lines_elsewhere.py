from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("pruned", trust_remote_code=True)  # also the seq2seq and masked classes
tokenizer = AutoTokenizer.from_pretrained("pruned")
prompt = tokenizer("Once upon a time", return_tensors="pt")
print(tokenizer.decode(model.generate(**prompt, num_beams=4, max_new_tokens=20)[0]))
model.save_pretrained("again")  # trains on, saves and loads as any other
