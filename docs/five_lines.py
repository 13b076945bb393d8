from helpers import heads, measures, study
from helpers.methods import removal
from helpers.runs import subjects

subject = subjects.of_name(study.settings("laptop"), "ru-news", 1)  # the published EN-RU model
table = measures.head_table(subject.model, removal.batches(subject, "dev", 500), names=["gradient, example", "confidence"])
print(table.nsmallest(3, "gradient, example").round(3))  # the heads of least gradient importance
heads.remove(subject.model, table["gradient, example"].nsmallest(len(table) // 2).index)  # half of all heads, for good
print({site: len(left) for site, left in heads.kept(subject.model).items()})  # heads left of each attention
