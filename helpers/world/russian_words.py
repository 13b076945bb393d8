"""The Russian words of the small world and their inflection: nouns, adjectives, verbs, pronouns.

Case order is nominative, genitive, dative, accusative, instrumental, prepositional. A column of an adjective (0 to 5) is
masculine animate, masculine inanimate, feminine, neuter, plural animate, plural inanimate; a past tense or short form has
masculine, feminine, neuter, plural (0 to 3). The letter "ё" is written "е" throughout.
"""

from __future__ import annotations

from functools import cache

from helpers.world import lexicon
from helpers.world.lexicon import sense

# key=lemma,gender[,options]; "|" starts a synonym of the same gender. Genders m f n, p (plural only), a (declines like an
# adjective), i (neuter, does not decline); a capital is animate. Options: o>oblique stem, p>nominative plural, g>genitive
# plural, t>instrumental plural, l>locative, ! ending stressed, на takes "на" and "с" where others take "в" and "из"
_NOUNS = """
man=мужчина,M woman=женщина,F child=ребенок,M,o>ребенк,p>дети,g>детей,t>детьми doctor=врач,M,!|доктор,M,p>доктора
teacher=учитель,M,p>учителя|преподаватель,M student=студент,M friend=друг,M,p>друзья,g>друзей
neighbour=сосед,M,p>соседи,g>соседей worker=рабочий,A soldier=солдат,M,g>солдат driver=водитель,M|шофер,M
farmer=фермер,M nurse=медсестра,F,g>медсестер lawyer=адвокат,M|юрист,M judge=судья,M,g>судей writer=писатель,M
singer=певец,M,o>певц,! painter=художник,M cook=повар,M,p>повара baker=пекарь,M guest=гость,M
customer=покупатель,M|клиент,M owner=владелец,M,o>владельц|хозяин,M,p>хозяева,g>хозяев
girl=девочка,F,g>девочек|девушка,F,g>девушек
boy=мальчик,M mother=мать,F,o>матер father=отец,M,o>отц,! brother=брат,M,p>братья sister=сестра,F,g>сестер
daughter=дочь,F,o>дочер,t>дочерьми son=сын,M,p>сыновья,g>сыновей wife=жена,F husband=муж,M,p>мужья,g>мужей
king=король,M queen=королева,F thief=вор,M hunter=охотник,M sailor=моряк,M|матрос,M pilot=летчик,M|пилот,M
engineer=инженер,M manager=директор,M,p>директора minister=министр,M president=президент,M officer=офицер,M
witness=свидетель,M prisoner=заключенный,A tourist=турист,M scientist=ученый,A journalist=журналист,M|репортер,M
musician=музыкант,M player=игрок,M gardener=садовник,M butcher=мясник,M servant=слуга,M
dog=собака,F cat=кошка,F,g>кошек horse=лошадь,F,t>лошадьми bird=птица,F cow=корова,F sheep=овца,F,!,g>овец bear=медведь,M
wolf=волк,M fox=лиса,F mouse=мышь,F rabbit=кролик,M goat=коза,F duck=утка,F,g>уток bat.animal=летучая_мышь,F bee=пчела,F
key=ключ,m,! table=стол,m box=коробка,f,g>коробок bag=сумка,f,g>сумок chair=стул,m,p>стулья lamp=лампа,f
window=окно,n,g>окон door=дверь,f knife=нож,m,! cup=чашка,f,g>чашек bottle=бутылка,f,g>бутылок clock=часы,p,g>часов
mirror=зеркало,n basket=корзина,f rope=веревка,f,g>веревок hammer=молоток,m,o>молотк bat.club=бита,f ring=кольцо,n,!,g>колец
wheel=колесо,n mast=мачта,f umbrella=зонт,m|зонтик,m phone=телефон,m computer=компьютер,m camera=камера,f
picture=картина,f flag=флаг,m
book=книга,f letter.mail=письмо,n,g>писем report=доклад,m|отчет,m newspaper=газета,f article=статья,f,g>статей
story=рассказ,m poem=стихотворение,n contract=договор,m|контракт,m song=песня,f,g>песен map=карта,f list=список,m,o>списк
bread=хлеб,m apple=яблоко,n,p>яблоки,g>яблок cheese=сыр,m soup=суп,m cake=торт,m|пирог,m meat=мясо,n egg=яйцо,n,!,g>яиц
potato=картофелина,f potato.mass=картофель,m fish=рыба,f salad=салат,m
water=вода,f coffee=кофе,mi tea=чай,m milk=молоко,n wine=вино,n beer=пиво,n juice=сок,m
car=машина,f train=поезд,m,p>поезда bus=автобус,m ship=корабль,m boat=лодка,f,g>лодок bicycle=велосипед,m plane=самолет,m
truck=грузовик,m
house=дом,m,p>дома city=город,m,p>города school=школа,f village=деревня,f,g>деревень station=вокзал,m,на hospital=больница,f
church=церковь,f,o>церкв museum=музей,m factory=завод,m,на office=офис,m market=рынок,m,o>рынк,на garden=сад,m,l>саду
park=парк,m kitchen=кухня,f,g>кухонь,на room=комната,f street=улица,f,на bridge=мост,m,l>мосту,на forest=лес,m,p>леса,l>лесу
river=река,f mountain=гора,f,на island=остров,m,p>острова,на castle=замок,m,o>замк hotel=гостиница,f theatre=театр,m
library=библиотека,f prison=тюрьма,f,g>тюрем harbour=порт,m,l>порту tower=башня,f,g>башен field=поле,n,g>полей
bank.river=берег,m,p>берега,l>берегу,на
company=компания,f|фирма,f government=правительство,n team=команда,f bank.money=банк,m party=партия,f army=армия,f court=суд,m,!
university=университет,m club=клуб,m agency=агентство,n
meeting=собрание,n|совещание,n war=война,f,g>войн game.match=матч,m concert=концерт,m election=выборы,p,g>выборов
wedding=свадьба,f,g>свадеб journey=путешествие,n exam=экзамен,m trial=процесс,m strike=забастовка,f,g>забастовок
problem=проблема,f question=вопрос,m plan=план,m idea=идея,f,g>идей decision=решение,n answer=ответ,m mistake=ошибка,f,g>ошибок
price=цена,f law=закон,m secret=секрет,m rule=правило,n reason=причина,f promise=обещание,n truth=правда,f danger=опасность,f
football=футбол,m chess=шахматы,p,g>шахмат tennis=теннис,m poker=покер,m
piano=пианино,i guitar=гитара,f violin=скрипка,f,g>скрипок flute=флейта,f drum=барабан,m
coat=пальто,i hat=шляпа,f shirt=рубашка,f,g>рубашек dress=платье,n,g>платьев shoe=ботинок,m,o>ботинк,g>ботинок
morning=утро,n evening=вечер,m,p>вечера week=неделя,f month=месяц,m year=год,m,l>году,g>лет summer=лето,n winter=зима,f
night=ночь,f
"""

# key lemma[=short masculine[,stem of the other short forms]]; "|" starts a synonym. A short form, where given, is the one
# used as a predicate; "@nouns" after a key: the word with these nouns
_ADJECTIVES = """
old.person пожилой
old.thing старый
young молодой=молод
new новый
big большой
small маленький|небольшой
good хороший
bad плохой
beautiful красивый=красив|прекрасный=прекрасен,прекрасн
ugly уродливый|некрасивый=некрасив
rich богатый=богат
poor.money бедный=беден,бедн
poor.quality неудачный
poor.quality@coffee,wine скверный
famous знаменитый=знаменит|известный=известен,известн
strong.body сильный=силен,сильн
strong.taste крепкий
strong.taste@cheese острый
weak.body слабый=слаб
weak.taste некрепкий
heavy тяжелый
light.weight легкий
light.colour светлый
dark темный
hard.difficult трудный=труден,трудн|сложный=сложен,сложн
hard.firm твердый
hard.firm@bread черствый
hard.firm@chair,meat,shoe жесткий
easy простой=прост
short.body невысокий
short.time недолгий
short.text короткий
long длинный
long@meeting,journey,concert,trial,strike,war долгий
tall высокий
right.correct правильный|верный
wrong неправильный
wrong@key,door чужой
sharp.blade острый
sharp.mind проницательный
cold.thing холодный
cold.heart равнодушный|бездушный
warm теплый
red красный
blue синий
green зеленый
white белый
black черный
clean чистый
dirty грязный
happy счастливый=счастлив
sad грустный|печальный
tired усталый|уставший
sick больной=болен,больн
clever умный=умен,умн
stupid глупый=глуп
honest честный=честен,честн
brave смелый=смел|храбрый=храбр
dangerous опасный=опасен,опасн
expensive дорогой
cheap дешевый|недорогой
important важный=важен,важн
secret тайный|секретный
empty пустой=пуст
full полный=полон,полн
slow медленный
slow@horse,player медлительный
fast быстрый
modern современный|новейший
"""

# key[@objects][^subjects] imperfective / perfective [/ to and fro] | government | flags; a line that starts with "="
# is a synonym of the line before. A verb is infinitive[:first person,third person][<past][!imperative][%short participle].
# Flags: s the imperfective tells a single past or future event too, n a past one only, x:word a word that always follows
_VERBS = """
see видеть:вижу,видит!смотри / увидеть:увижу,увидит!посмотри | acc | n
say говорить / сказать:скажу,скажет | acc
= заявлять / заявить | acc
know.fact знать / узнать | acc | s
think думать / подумать | acc | s
= считать / счесть:сочту,сочтет<счел | acc | s
believe верить!верь / поверить!поверь | acc | n
hope надеяться:надеюсь,надеется!надейся / понадеяться:понадеюсь,понадеется!понадейся | acc | s
hear слышать:слышу,слышит!слушай / услышать:услышу,услышит!послушай | acc | n
find находить:нахожу,находит / найти:найду,найдет<нашел%найден | acc
take брать:беру,берет / взять:возьму,возьмет%взят | acc
give давать:даю,дает!давай / дать:дам_дашь_даст_дадим_дадите_дадут!дай%дан | acc
= отдавать:отдаю,отдает!отдавай / отдать:отдам_отдашь_отдаст_отдадим_отдадите_отдадут!отдай%отдан | acc
buy покупать / купить%куплен | acc
= приобретать / приобрести:приобрету,приобретет<приобрел%приобретен | acc
sell продавать:продаю,продает!продавай / продать:продам_продашь_продаст_продадим_продадите_продадут!продай%продан | acc
send посылать / послать:пошлю,пошлет%послан | acc
= отправлять / отправить!отправь%отправлен | acc
show показывать / показать:покажу,покажет%показан | acc
write писать:пишу,пишет / написать:напишу,напишет%написан | acc
read читать / прочитать%прочитан | acc
eat.person есть:ем_ешь_ест_едим_едите_едят<ел!ешь / съесть:съем_съешь_съест_съедим_съедите_съедят<съел!съешь%съеден | acc
eat.animal поедать / слопать%слопан | acc
eat.animal@bread,cheese,apple,potato,meat грызть:грызу,грызет<грыз / сгрызть:сгрызу,сгрызет<сгрыз%сгрызен | acc
eat.animal@soup лакать / вылакать%вылакан | acc
eat.animal^bird,duck клевать:клюю,клюет / склевать:склюю,склюет%склеван | acc
drink.person пить:пью,пьет!пей / выпить:выпью,выпьет!выпей%выпит | acc
drink.animal лакать / вылакать%вылакан | acc
drink.animal^horse,cow,sheep,goat,bird,duck,bee хлебать / выхлебать%выхлебан | acc
play.game играть / сыграть | в+acc | s
play.music играть / сыграть | на+pre | s
run.go бежать:бегу_бежишь_бежит_бежим_бежите_бегут/побежать:побегу_побежишь_побежит_побежим_побежите_побегут!беги/бегать | acc
run.manage управлять | ins | s
= руководить | ins | s
go идти:иду,идет<шел / пойти:пойду,пойдет<пошел!иди / ходить:хожу,ходит | acc
go.far ехать:еду,едет!поезжай / поехать:поеду,поедет!поезжай / ездить:езжу,ездит!езди | acc
come приходить:прихожу,приходит / прийти:приду,придет<пришел!приходи | acc
come.far приезжать / приехать:приеду,приедет!приезжай | acc
fly.bird лететь:лечу,летит / полететь:полечу,полетит / летать | acc
fly.person лететь:лечу,летит / вылететь:вылечу,вылетит!лети / летать | acc
sleep спать:сплю,спит<спал / заснуть | acc | s
work.person работать / поработать | acc | s
= трудиться:тружусь,трудится / потрудиться:потружусь,потрудится | acc | s
work.machine функционировать / заработать | acc | s
live жить:живу,живет / пожить:поживу,поживет | acc | s
wait ждать:жду,ждет / подождать:подожду,подождет | gen | s
look смотреть:смотрю,смотрит / посмотреть:посмотрю,посмотрит | на+acc
= глядеть:гляжу,глядит / взглянуть | на+acc
help помогать / помочь:помогу,поможет<помог!помоги | dat
thank благодарить / поблагодарить | acc
follow следовать / последовать | за+ins
meet встречать / встретить!встреть%встречен | acc
love любить / полюбить | acc | s
visit навещать / навестить:навещу,навестит | acc
visit@place посещать / посетить:посещу,посетит%посещен | acc
leave.place покидать / покинуть!покинь%покинут | acc
leave.thing оставлять / оставить!оставь%оставлен | acc
miss.person скучать / соскучиться!соскучься | по+dat | s
= тосковать / затосковать | по+dat | s
miss.vehicle опаздывать / опоздать | на+acc
catch.animal ловить / поймать%пойман | acc
catch.thief задерживать / задержать:задержу,задержит%задержан | acc
save.person спасать / спасти:спасу,спасет<спас%спасен | acc
save.computer сохранять / сохранить%сохранен | acc
fire.dismiss увольнять / уволить!уволь%уволен | acc
open.thing раскрывать / раскрыть%раскрыт | acc
open.thing@bottle откупоривать / откупорить!откупорь%откупорен | acc
open.place открывать / открыть%открыт | acc
close закрывать / закрыть%закрыт | acc
break.thing разбивать / разбить:разобью,разобьет!разбей%разбит | acc
break.thing@chair,tron ломать / сломать%сломан | acc
break.rule нарушать / нарушить!нарушь%нарушен | acc
raise.child воспитывать / воспитать%воспитан | acc
= растить:ращу,растит / вырастить:выращу,вырастит%выращен | acc
raise.price повышать / повысить!повысь%повышен | acc
raise.question поднимать / поднять:подниму,поднимет%поднят | acc
raise.question@idea выдвигать / выдвинуть%выдвинут | acc
draw.picture рисовать / нарисовать%нарисован | acc
draw.picture@map чертить / начертить%начерчен | acc
draw.attract привлекать / привлечь:привлеку,привлечет<привлек!привлеки%привлечен | acc
hold.thing держать:держу,держит / подержать:подержу,подержит | acc | s
hold.event проводить:провожу,проводит / провести:проведу,проведет<провел%проведен | acc
hold.event@wedding,journey устраивать / устроить%устроен | acc
hold.event@war вести:веду,ведет<вел / провести:проведу,проведет<провел%проведен | acc | s
order.food заказывать / заказать:закажу,закажет%заказан | acc
order.thing оформлять / оформить | на+acc | x:заказ
change изменять / изменить%изменен | acc
= менять / поменять%поменян | acc
build строить / построить%построен | acc
paint красить!крась / покрасить!покрась%покрашен | acc
repair чинить / починить%починен | acc
= ремонтировать / отремонтировать%отремонтирован | acc
wash мыть / вымыть:вымою,вымоет%вымыт | acc
wash@garment стирать / постирать%постиран | acc
carry нести:несу,несет<нес / понести:понесу,понесет<понес / носить | acc | s
lose терять / потерять%потерян | acc
lose@event проигрывать / проиграть%проигран | acc
win выигрывать / выиграть%выигран | acc
forget забывать / забыть:забуду,забудет!забудь%забыт | acc
remember помнить:помню,помнит / вспомнить:вспомню,вспомнит / вспоминать | acc
understand понимать / понять:пойму,поймет%понят | acc
discuss обсуждать / обсудить%обсужден | acc
accept принимать / принять:приму,примет%принят | acc
answer отвечать / ответить!ответь | на+acc
use пользоваться / воспользоваться | ins
use@idea использовать / использовать%использован | acc
watch наблюдать / понаблюдать | за+ins | s
= следить / проследить | за+ins | s
watch@event смотреть:смотрю,смотрит / посмотреть:посмотрю,посмотрит | acc
attack нападать / напасть:нападу,нападет<напал | на+acc
fear бояться:боюсь,боится!бойся / испугаться | gen | s
trust доверять / поверить!поверь | dat | s
cry.weep плакать:плачу,плачет!плачь / заплакать:заплачу,заплачет!заплачь | acc | s
laugh смеяться:смеюсь,смеется!смейся / засмеяться:засмеюсь,засмеется!засмейся | acc | s
sing петь:пою,поет / спеть:спою,споет | acc | s
smile улыбаться / улыбнуться | acc
arrive прибывать / прибыть:прибуду,прибудет!прибудь | acc
die умирать / умереть:умру,умрет<умер | acc
grow.animal расти:расту,растет<рос / вырасти:вырасту,вырастет<вырос | acc
grow.plant выращивать / вырастить:выращу,вырастит%выращен | acc
begin начинаться / начаться:начнусь,начнется | acc
end.finish заканчиваться / закончиться!закончись | acc
= кончаться / кончиться!кончись | acc
surprise удивлять / удивить%удивлен | acc
belong принадлежать:принадлежу,принадлежит | dat | s
dream мечтать | о+pre | s
need нуждаться | в+pre | s
know.person быть:буду,будет!будь | с+ins | s
be быть:буду,будет!будь | ins | s
go.can мочь:могу,может<мог!моги / смочь:смогу,сможет<смог!смоги | acc
go.want хотеть:хочу_хочешь_хочет_хотим_хотите_хотят!хоти / захотеть:захочу_захочешь_захочет_захотим_захотите_захотят | acc
need.soon нуждаться / понадобиться!понадобься | acc
"""

_ADVERBS = """
quickly=быстро slowly=медленно|неторопливо carefully=осторожно|аккуратно quietly=тихо well=хорошо badly.skill=плохо
badly.much=очень secretly=тайно|тайком happily=радостно|весело angrily=сердито|злобно immediately=немедленно|сразу
gladly=охотно|с_радостью patiently=терпеливо often=часто always=всегда sometimes=иногда|порой usually=обычно rarely=редко
yesterday=вчера recently=недавно suddenly=вдруг|внезапно finally=наконец today=сегодня now=сейчас|теперь tomorrow=завтра
soon=скоро|вскоре perhaps=возможно|может_быть probably=вероятно|наверное fortunately=к_счастью really=действительно
already=уже very=очень too=слишком quite=довольно extremely=крайне|чрезвычайно here=здесь|тут there=там
"""

ADVERBS: dict[str, tuple[str, ...]] = {
    key: tuple(text.replace("_", " ").split("|")) for key, text in (item.split("=") for item in _ADVERBS.split())
}

VOWELS = frozenset("аеиоуыэюя")
HUSH, SIBILANT = frozenset("кгхжшщч"), frozenset("жшщчц")
NOM, GEN, DAT, ACC, INS, PRE = range(6)
CASES = {"nom": NOM, "gen": GEN, "dat": DAT, "acc": ACC, "ins": INS, "pre": PRE}
AGREES = (0, 0, 1, 2, 3, 3)  # of an adjective's column: the gender of a verb
COLUMN = (0, 2, 3, 4)  # and back


class Noun:
    """A noun: its forms by case, the columns its adjectives take, and what comes with "in" and "to"."""

    __slots__ = ("column", "count", "lemma", "loc", "many", "na", "pl", "sg", "synonyms")

    def __init__(self, lemma, sg, pl, column, many, loc="", na=False, count=""):
        self.lemma, self.sg, self.pl, self.column, self.many = lemma, sg, pl, column, many
        self.loc, self.na, self.count, self.synonyms = loc, na, count or sg[GEN], ()


def adjective_forms(lemma: str) -> tuple[tuple[str, ...], ...]:
    """Forms of an adjective by column and case."""
    stem, end, last = lemma[:-2], lemma[-2:], lemma[-3]
    soft = end == "ий" and last not in HUSH
    y = "и" if soft or last in HUSH else "ы"
    # after a sibilant an unstressed "o" is written "e"
    o = "е" if soft or (last in SIBILANT and end != "ой") else "о"
    a, u, e = ("яя", "юю", "ее") if soft else ("ая", "ую", o + "е")
    m = (lemma, *(stem + x for x in (o + "го", o + "му", o + "го", y + "м", o + "м")))
    f = tuple(stem + x for x in (a, o + "й", o + "й", u, o + "й", o + "й"))
    n = (stem + e, m[1], m[2], stem + e, m[4], m[5])
    p = tuple(stem + y + x for x in ("е", "х", "м", "х", "ми", "х"))
    return m, (*m[:3], lemma, *m[4:]), f, n, p, (*p[:3], p[0], *p[4:])


def decline(lemma: str, gender: str, options: dict[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Singular and plural forms of a noun by case.

    Parameters
    ----------
    lemma : str
        Nominative singular (plural, if there is no singular).
    gender : str
        "m", "f", "n", "p" (plural only); capital if animate.
    options : dict
        What the rules do not give, see `_NOUNS`.
    """
    sex, animate = gender.lower(), gender.isupper()
    stem, stressed, end = options.get("o", lemma), "!" in options, lemma[-1]
    if sex == "p":
        plural, sg, zero = lemma, None, ""
    else:
        stem = options.get("o") or (lemma[:-1] if end in "аяоеьй" else lemma)
        y = "и" if stem[-1] in HUSH or end in "яьй" else "ы"
        i = stem[-1] == "и"  # -ия, -ие, -ий
        if end in "ая":
            a, u = (y, "у" if end == "а" else "ю")
            oj = "ой" if end == "а" and (stressed or stem[-1] not in SIBILANT) else "ей"
            dat = stem + ("и" if i else "е")
            sg = [lemma, stem + a, dat, stem + u, stem + oj, dat]
            plural, zero = stem + y, stem + ("й" if i else "ь" if end == "я" else "")
        elif sex == "f":
            ins = stem + "ью" if stem.endswith("ер") else lemma + "ю"
            sg = [lemma, stem + "и", stem + "и", lemma, ins, stem + "и"]
            plural, zero = stem + "и", stem + "ей"
        else:
            soft = end in "ьй" or (end == "е" and stem[-1] not in SIBILANT)
            a, u = "яю" if soft else "ау"
            om = "ем" if soft or (stem[-1] in SIBILANT and not stressed) else "ом"
            gen = stem + a
            acc = lemma if sex == "n" or not animate else gen
            sg = [lemma, gen, stem + u, acc, stem + om, stem + ("и" if i and end != "ь" else "е")]
            if sex == "n":
                plural, zero = stem + a, stem + "й" if i else stem
            else:
                plural = stem + y
                zero = stem + ("ей" if end == "ь" or stem[-1] in "жшщч" else "ев" if end == "й" or om == "ем" else "ов")
    plural = options.get("p", plural)
    root = plural[:-1]
    if "p" in options and sex == "m":
        zero = root + ("ов" if plural[-1] == "а" else "ев" if plural.endswith("ья") else "ей")
    gen = options.get("g", zero)
    a = "я" if plural[-1] == "я" or (plural[-1] == "и" and root[-1] not in HUSH) else "а"
    pl = [plural, gen, options.get("d", root + a + "м"), gen if animate else plural]
    pl += [options.get("t", root + a + "ми"), root + a + "х"]
    return tuple(sg or pl), tuple(pl)


def _noun(spec: str) -> Noun:
    lemma, gender, *rest = spec.split(",")
    options = {x.partition(">")[0]: x.partition(">")[2] for x in rest}
    animate, sex = gender.isupper(), gender.lower()
    column = {"m": 1 - animate, "a": 1 - animate, "mi": 1, "f": 2, "n": 3, "i": 3, "p": 5}[sex]
    many = 4 if animate else 5
    if sex == "a":
        forms = adjective_forms(lemma)
        return Noun(lemma, forms[column], forms[many], column, many, count=forms[many][GEN])
    if sex in ("i", "mi"):
        return Noun(lemma, (lemma,) * 6, (lemma,) * 6, column, many)
    first, _, last = lemma.rpartition("_")
    sg, pl = decline(last, gender, options)
    if first:  # an adjective that belongs to the name
        forms = adjective_forms(first[:-2] + "ий")
        sg = tuple(f"{x} {y}" for x, y in zip(forms[column], sg, strict=True))
        pl = tuple(f"{x} {y}" for x, y in zip(forms[many], pl, strict=True))
    return Noun(lemma.replace("_", " "), sg, pl, column, many, options.get("l", ""), "на" in options)


@cache
def nouns() -> dict[str, Noun]:
    """Nouns of the core by key; synonyms hang on the first."""
    table = {}
    for item in _NOUNS.split():
        key, _, text = item.partition("=")
        first, *others = [_noun(spec) for spec in text.split("|")]
        first.synonyms = tuple(others)
        table[key] = first
    return table


SUFFIX = {"forename_f": "а", "town": "бург", "ite": "ит", "ist": "ист", "logy": "ология", "ium": "иум", "tron": "отрон"}


def tail_noun(key: str) -> Noun:
    """A rare word, by its syllables and kind."""
    return _of_tail(lexicon.tail()[key])


def surname(key: str) -> Noun:
    """A surname."""
    return _of_tail(lexicon.surname(key))


@cache
def _of_tail(word: lexicon.TailWord) -> Noun:
    text = "".join(map(lexicon.cyrillic, word.syllables)) + SUFFIX.get(word.kind, "")
    if word.kind in ("forename_m", "forename_f", "surname", "town"):
        text = text.capitalize()
    gender = {"forename_m": "M", "forename_f": "F", "surname": "M", "ist": "M", "logy": "f"}.get(word.kind, "m")
    return _noun(f"{text},{gender}")


class Adjective:
    """An adjective: forms by column and case, short forms by gender (or none), words with certain nouns, synonyms."""

    __slots__ = ("at", "forms", "lemma", "rivals", "short", "synonyms")

    def __init__(self, spec: str):
        self.lemma, _, short = spec.partition("=")
        self.forms = adjective_forms(self.lemma)
        masculine, _, stem = short.partition(",")
        stem = stem or masculine
        self.short = (masculine, stem + "а", stem + "о", stem + "ы") if short else None
        self.at, self.synonyms, self.rivals = {}, (), ()


@cache
def adjectives() -> dict[str, Adjective]:
    """Adjectives by key."""
    table: dict[str, Adjective] = {}
    for line in _ADJECTIVES.strip().splitlines():
        key, text = line.split()
        key, _, at = key.partition("@")
        first, *others = [Adjective(spec) for spec in text.split("|")]
        first.synonyms = tuple(others)
        if at:
            table[key].at.update(dict.fromkeys(at.split(","), first))
        else:
            table[key] = first
    for key, entry in table.items():
        rivals = [v for k, v in table.items() if sense(k) == sense(key) and k != key]
        for word in (entry, *entry.synonyms, *entry.at.values()):
            word.rivals = tuple(r for r in rivals if r.lemma != word.lemma)
    return table


class Conjugation:
    """Forms of a verb: present or simple future by person (singular, then plural), past by gender, and the rest."""

    __slots__ = ("imperative", "infinitive", "participle", "past", "past_others", "present", "present_others")

    def __init__(self, spec: str):
        spec, _, part = spec.partition("%")
        spec, _, imperative = spec.partition("!")
        spec, _, past = spec.partition("<")
        lemma, _, present = spec.partition(":")
        self.infinitive, reflexive = lemma, lemma.endswith("ся")
        base = lemma[:-2] if reflexive else lemma
        if "_" in present:
            forms = present.split("_")
        else:
            one, he = present.split(",") if present else _regular(base)
            if reflexive and present:
                one, he = one[:-2], he[:-2]
            stem, vowel = he[:-2], he[-2]
            they = stem + ("ат" if stem[-1] in SIBILANT else "ят") if vowel == "и" else one + "т"
            forms = [one, stem + vowel + "шь", he, stem + vowel + "м", stem + vowel + "те", they]
        last = forms[5][:-2]
        order = last + ("й" if last[-1] in VOWELS else "и")
        he = past or base[:-2] + "л"
        she = he[:-2] + "ла" if he.endswith("шел") else he[:-2] + "ла" if he.endswith("чел") else ""
        she = she or (he if he.endswith("л") else he + "л") + "а"
        forms = [*forms, order, he, she, she[:-1] + "о", she[:-1] + "и"]
        if reflexive:
            forms = [x + ("сь" if x[-1] in VOWELS else "ся") for x in forms]
        self.present, self.past = tuple(forms[:6]), tuple(forms[7:])
        self.imperative = imperative or forms[6]
        self.participle = (part, part + "а", part + "о", part + "ы") if part else None
        self.past_others = tuple(tuple(y for y in self.past if y != x) for x in self.past)
        told = (self.present[2], self.present[5], self.present[0])
        self.present_others = tuple(tuple(y for y in told if y != x) for x in self.present)


MUTATION = {"д": "ж", "з": "ж", "с": "ш", "т": "ч", "б": "бл", "п": "пл", "в": "вл", "м": "мл", "ф": "фл"}


def _regular(base: str) -> tuple[str, str]:
    """First and third person singular of a verb that follows from its infinitive."""
    if base.endswith("овать"):
        return base[:-5] + "ую", base[:-5] + "ует"
    if base.endswith("нуть"):
        return base[:-3] + "у", base[:-3] + "ет"
    if base.endswith("ыть"):
        return base[:-3] + "ою", base[:-3] + "оет"
    if base.endswith("ить"):
        stem = base[:-3]
        first = stem[:-1] + MUTATION.get(stem[-1], stem[-1])
        return first + ("у" if first[-1] in SIBILANT else "ю"), stem + "ит"
    return base[:-2] + "ю", base[:-2] + "ет"


class Verb:
    """A verb's aspect pair with its government; `rivals` are the other verbs of its English word."""

    __slots__ = ("case", "extra", "fro", "i", "lemma", "p", "preposition", "rivals", "senses", "stative", "synonyms")

    def __init__(self, line: str):
        parts = [part.strip() for part in line.split("|")]
        pair = [conjugation(spec.strip()) for spec in parts[0].split("/")]
        self.i, self.p, self.fro = (*pair, None, None)[:3]
        self.preposition, _, case = parts[1].rpartition("+")
        self.case = CASES[case]
        flags = parts[2].split() if len(parts) > 2 else []
        self.stative, self.senses = "s" in flags, "n" in flags
        self.extra = next((x[2:] for x in flags if x.startswith("x:")), "")
        self.lemma, self.synonyms, self.rivals = self.i.infinitive, (), ()


@cache
def conjugation(spec: str) -> Conjugation:
    return Conjugation(spec)


class VerbEntry:
    """The verbs of a key: the usual one, and those for certain objects or subjects."""

    __slots__ = ("objects", "subjects", "usual")

    def __init__(self):
        self.usual, self.objects, self.subjects = None, {}, {}

    def all(self) -> list[Verb]:
        verbs = [self.usual, *dict.fromkeys((*self.objects.values(), *self.subjects.values()))]
        return [v for verb in verbs for v in (verb, *verb.synonyms)]


@cache
def verbs() -> dict[str, VerbEntry]:
    """Verbs by key."""
    table: dict[str, VerbEntry] = {}
    last = None
    for line in _VERBS.strip().splitlines():
        head, _, rest = line.partition(" ")
        verb = Verb(rest)
        if head == "=":
            last.synonyms = (*last.synonyms, verb)
            continue
        last = verb
        head, _, subjects = head.partition("^")
        key, _, objects = head.partition("@")
        entry = table.setdefault(key, VerbEntry())
        if objects:
            entry.objects.update(dict.fromkeys(lexicon.select(objects.replace(",", " ")), verb))
        if subjects:
            entry.subjects.update(dict.fromkeys(lexicon.select(subjects.replace(",", " ")), verb))
        if not objects and not subjects:
            entry.usual = verb
    groups: dict[str, list[str]] = {}
    for key in lexicon.verbs():
        groups.setdefault(sense(key), []).append(key)
    for keys in groups.values():
        kin = [(key, verb) for key in keys if key in table and key != "know.person" for verb in table[key].all()]
        for key, verb in kin:
            same = {verb.lemma} | {v.lemma for k, v in kin if k == key and v in (table[key].usual, *table[key].usual.synonyms)}
            if verb not in (table[key].usual, *table[key].usual.synonyms):
                same = {verb.lemma}
            found = {v.lemma: v for _, v in reversed(kin) if v.lemma not in same}
            verb.rivals = tuple(reversed(found.values()))
    return table
