"""German words of the small world: nouns with gender and plural, verbs with government and principal parts, the rest.

Dense text tables only; `german` turns them into forms. "/" parts a word from its second translation (always of the same
gender), which the realiser takes now and then.
"""

# key:nominative:gender:plural; gender "w" is the weak masculine (n-declension: Student, Junge, Nachbar);
# plural "=" like the singular, "+x" adds x, "" follows from the weak declension
NOUNS = """
man:Mann:m:Männer woman:Frau:f:+en child:Kind:n:+er doctor:Arzt:m:Ärzte/Mediziner:m:= teacher:Lehrer:m:=
student:Student:w:
friend:Freund:m:+e neighbour:Nachbar:w: worker:Arbeiter:m:= soldier:Soldat:w: driver:Fahrer:m:=/Chauffeur:m:+e
farmer:Bauer:w:/Landwirt:m:+e
nurse:Krankenschwester:f:+n/Pflegerin:f:+nen lawyer:Anwalt:m:Anwälte/Rechtsanwalt:m:Rechtsanwälte judge:Richter:m:=
writer:Schriftsteller:m:=/Autor:m:+en singer:Sänger:m:= painter:Maler:m:= cook:Koch:m:Köche baker:Bäcker:m:=
guest:Gast:m:Gäste/Besucher:m:= customer:Kunde:w: owner:Besitzer:m:=/Eigentümer:m:= girl:Mädchen:n:= boy:Junge:w:
mother:Mutter:f:Mütter
father:Vater:m:Väter brother:Bruder:m:Brüder sister:Schwester:f:+n daughter:Tochter:f:Töchter son:Sohn:m:Söhne
wife:Ehefrau:f:+en/Gattin:f:+nen husband:Ehemann:m:Ehemänner/Gatte:w: king:König:m:+e queen:Königin:f:+nen
thief:Dieb:m:+e hunter:Jäger:m:=
sailor:Matrose:w:/Seemann:m:Seeleute pilot:Pilot:w: engineer:Ingenieur:m:+e manager:Manager:m:=/Geschäftsführer:m:=
minister:Minister:m:=
president:Präsident:w: officer:Polizist:w: witness:Zeuge:w: prisoner:Häftling:m:+e tourist:Tourist:w:
scientist:Wissenschaftler:m:=/Forscher:m:= journalist:Journalist:w: musician:Musiker:m:= player:Spieler:m:=
gardener:Gärtner:m:= butcher:Metzger:m:=/Fleischer:m:= servant:Diener:m:=
dog:Hund:m:+e cat:Katze:f:+n horse:Pferd:n:+e bird:Vogel:m:Vögel cow:Kuh:f:Kühe sheep:Schaf:n:+e bear:Bär:w:
wolf:Wolf:m:Wölfe fox:Fuchs:m:Füchse mouse:Maus:f:Mäuse rabbit:Kaninchen:n:= goat:Ziege:f:+n duck:Ente:f:+n
bat.animal:Fledermaus:f:Fledermäuse bee:Biene:f:+n
key:Schlüssel:m:= table:Tisch:m:+e box:Kiste:f:+n/Schachtel:f:+n bag:Tasche:f:+n chair:Stuhl:m:Stühle/Sessel:m:=
lamp:Lampe:f:+n/Leuchte:f:+n
window:Fenster:n:= door:Tür:f:+en knife:Messer:n:= cup:Tasse:f:+n bottle:Flasche:f:+n clock:Uhr:f:+en mirror:Spiegel:m:=
basket:Korb:m:Körbe rope:Seil:n:+e/Tau:n:+e hammer:Hammer:m:Hämmer bat.club:Schläger:m:= ring:Ring:m:+e
wheel:Rad:n:Räder
mast:Mast:m:+en umbrella:Regenschirm:m:+e/Schirm:m:+e phone:Telefon:n:+e computer:Computer:m:=/Rechner:m:=
camera:Kamera:f:+s
picture:Bild:n:+er/Gemälde:n:= flag:Fahne:f:+n/Flagge:f:+n
book:Buch:n:Bücher letter.mail:Brief:m:+e report:Bericht:m:+e newspaper:Zeitung:f:+en
article:Artikel:m:=/Beitrag:m:Beiträge
story:Geschichte:f:+n/Erzählung:f:+en poem:Gedicht:n:+e contract:Vertrag:m:Verträge song:Lied:n:+er
map:Karte:f:+n/Landkarte:f:+n
list:Liste:f:+n
bread:Brot:n:+e apple:Apfel:m:Äpfel cheese:Käse:m:= soup:Suppe:f:+n cake:Kuchen:m:= meat:Fleisch:n:= egg:Ei:n:+er
potato:Kartoffel:f:+n fish:Fisch:m:+e salad:Salat:m:+e
water:Wasser:n:= coffee:Kaffee:m:+s tea:Tee:m:+s milk:Milch:f:= wine:Wein:m:+e beer:Bier:n:+e juice:Saft:m:Säfte
car:Auto:n:+s train:Zug:m:Züge bus:Bus:m:Busse ship:Schiff:n:+e boat:Boot:n:+e bicycle:Fahrrad:n:Fahrräder
plane:Flugzeug:n:+e truck:Lastwagen:m:=/Laster:m:=
house:Haus:n:Häuser city:Stadt:f:Städte school:Schule:f:+n village:Dorf:n:Dörfer station:Bahnhof:m:Bahnhöfe
hospital:Krankenhaus:n:Krankenhäuser church:Kirche:f:+n museum:Museum:n:Museen factory:Fabrik:f:+en
office:Büro:n:+s
market:Markt:m:Märkte garden:Garten:m:Gärten park:Park:m:+s kitchen:Küche:f:+n room:Zimmer:n:= street:Straße:f:+n
bridge:Brücke:f:+n forest:Wald:m:Wälder river:Fluss:m:Flüsse mountain:Berg:m:+e island:Insel:f:+n
castle:Schloss:n:Schlösser
hotel:Hotel:n:+s theatre:Theater:n:= library:Bibliothek:f:+en/Bücherei:f:+en prison:Gefängnis:n:Gefängnisse
harbour:Hafen:m:Häfen tower:Turm:m:Türme field:Feld:n:+er bank.river:Ufer:n:=
company:Firma:f:Firmen/Gesellschaft:f:+en government:Regierung:f:+en team:Mannschaft:f:+en bank.money:Bank:f:+en
party:Partei:f:+en
army:Armee:f:+n court:Gericht:n:+e university:Universität:f:+en/Hochschule:f:+n club:Verein:m:+e/Klub:m:+s
agency:Agentur:f:+en
meeting:Sitzung:f:+en/Besprechung:f:+en war:Krieg:m:+e game.match:Spiel:n:+e concert:Konzert:n:+e election:Wahl:f:+en
wedding:Hochzeit:f:+en/Trauung:f:+en journey:Reise:f:+n/Fahrt:f:+en exam:Prüfung:f:+en trial:Prozess:m:+e
strike:Streik:m:+s
problem:Problem:n:+e question:Frage:f:+n plan:Plan:m:Pläne/Entwurf:m:Entwürfe idea:Idee:f:+n
decision:Entscheidung:f:+en answer:Antwort:f:+en
mistake:Fehler:m:=/Irrtum:m:Irrtümer price:Preis:m:+e law:Gesetz:n:+e secret:Geheimnis:n:Geheimnisse rule:Regel:f:+n
reason:Grund:m:Gründe promise:Versprechen:n:= truth:Wahrheit:f:+en danger:Gefahr:f:+en
football:Fußball:m:Fußbälle chess:Schach:n:= tennis:Tennis:n:= poker:Poker:n:=
piano:Klavier:n:+e guitar:Gitarre:f:+n violin:Geige:f:+n/Violine:f:+n flute:Flöte:f:+n drum:Trommel:f:+n
coat:Mantel:m:Mäntel hat:Hut:m:Hüte shirt:Hemd:n:+en dress:Kleid:n:+er shoe:Schuh:m:+e
morning:Morgen:m:= evening:Abend:m:+e week:Woche:f:+n month:Monat:m:+e year:Jahr:n:+e summer:Sommer:m:=
winter:Winter:m:=
night:Nacht:f:Nächte
"""
GENITIVES = {
    "Bus": "Busses",
    "Park": "Parks",
    "Streik": "Streiks",
    "Klub": "Klubs",
    "Tennis": "Tennis",
    "Jahr": "Jahres",
    "Tee": "Tees",
}
FEMININE = {  # "she is a doctor"; all other masculine professions add -in
    "Arzt": "Ärztin", "Koch": "Köchin", "Anwalt": "Anwältin", "Rechtsanwalt": "Rechtsanwältin", "Bauer": "Bäuerin",
    "Seemann": "Seefrau", "Gast": "Gast", "Häftling": "Häftling",
}  # fmt: skip
NOT_FEMININE = "man boy father brother son husband king".split()
# nouns that are no profession: "er ist ein Junge" keeps its article, "er ist Arzt" does not
NO_PROFESSION = (
    "man woman child girl boy friend neighbour guest owner mother father brother sister daughter son wife husband "
    "thief prisoner witness player customer hunter king queen person driver servant tourist"
).split()

# key | in news | in subtitles where it differs; a verb is [particle|]infinitive[/s for "ist ..."] [sich] [case or
# preposition:case], "," parts the rarer second choice
VERBS = """
be | sein
see | sehen
say | sagen, erklären | sagen
know.fact | wissen
know.person | kennen
think | denken, meinen
believe | glauben
hope | hoffen
hear | hören
find | finden, entdecken
take | nehmen, mit|nehmen
give | geben
buy | kaufen, erwerben | kaufen
sell | verkaufen
send | schicken, senden
show | zeigen
write | schreiben
read | lesen
eat.person | essen
eat.animal | fressen
drink.person | trinken
drink.animal | saufen
play.game | spielen
play.music | spielen auf:dat
run.go | laufen/s, rennen/s
run.manage | leiten, führen
go | gehen/s
come | kommen/s
fly.bird | fliegen/s
fly.person | fliegen/s
sleep | schlafen
work.person | arbeiten
work.machine | funktionieren
live | leben
wait | warten auf:acc
look | an|sehen, betrachten | an|sehen, an|schauen
help | helfen dat, unterstützen
thank | danken dat
follow | folgen/s dat
meet | treffen, begegnen/s dat | treffen
love | lieben
visit | besuchen, auf|suchen | besuchen
leave.place | verlassen
leave.thing | zurück|lassen
miss.person | vermissen
miss.vehicle | verpassen, versäumen
catch.animal | fangen
catch.thief | fassen, fest|nehmen | erwischen, fassen
save.person | retten
save.computer | speichern
fire.dismiss | entlassen | entlassen, feuern
open.thing | öffnen | auf|machen, öffnen
open.place | eröffnen
close | schließen | zu|machen, schließen
break.thing | zerbrechen | kaputt|machen, zerbrechen
break.rule | brechen
raise.child | auf|ziehen | groß|ziehen
raise.price | erhöhen, an|heben
raise.question | auf|werfen
draw.picture | zeichnen
draw.attract | an|locken, an|ziehen | an|locken
hold.thing | halten, fest|halten
hold.event | veranstalten
order.food | bestellen
order.thing | ordern
change | ändern, verändern
build | bauen, errichten
paint | streichen, an|streichen
repair | reparieren, instand|setzen
wash | waschen
carry | tragen, schleppen
lose | verlieren
win | gewinnen
forget | vergessen
remember | erinnern sich an:acc
understand | verstehen, begreifen | verstehen
discuss | besprechen, erörtern | besprechen
accept | an|nehmen, akzeptieren | akzeptieren, an|nehmen
answer | beantworten
use | benutzen, verwenden
need | brauchen, benötigen
watch | beobachten
attack | an|greifen, überfallen
fear | fürchten
trust | vertrauen dat, trauen dat
cry.weep | weinen
laugh | lachen
sing | singen
smile | lächeln
arrive | an|kommen/s, ein|treffen/s | an|kommen/s
die | sterben/s
grow.animal | wachsen/s
grow.plant | an|bauen
begin | beginnen, an|fangen | an|fangen, beginnen
end.finish | enden, auf|hören
surprise | überraschen, verblüffen
belong | gehören dat
dream | träumen von:dat
"""
# another verb with these objects (or goals): noun or class -> verb
BY_OBJECT = {
    "hold.event": {
        "war": "führen", "trial": "führen", "wedding": "feiern", "meeting": "ab|halten", "election": "ab|halten",
        "exam": "ab|halten", "strike": "durch|führen", "journey": "unternehmen", "game.match": "aus|tragen",
    },
    "wash": {"cup": "spülen", "window": "putzen"},
    "watch": {"event": "verfolgen"},
    "use": {"law": "an|wenden", "rule": "an|wenden", "idea": "nutzen"},
    "go": dict.fromkeys("city village island mountain town".split(), "fahren/s"),
    "raise.question": {"question": "auf|werfen", "problem": "auf|werfen", "price": "erhöhen", "idea": "an|sprechen"},
    "take": {"decision": "treffen"},
    "build": {"vehicle": "bauen"},
    "answer": {"": "antworten"},
    "look": {"": "schauen"},
}  # fmt: skip

# infinitive, third person present ("-" regular), preterite, participle
STRONG = """
sehen sieht sah gesehen;kennen - kannte gekannt;denken - dachte gedacht;senden - sandte gesandt;finden - fand gefunden
nehmen nimmt nahm genommen;geben gibt gab gegeben;schreiben - schrieb geschrieben;lesen liest las gelesen
essen isst aß gegessen;fressen frisst fraß gefressen;trinken - trank getrunken;saufen säuft soff gesoffen
laufen läuft lief gelaufen;rennen - rannte gerannt;gehen - ging gegangen;fahren fährt fuhr gefahren
kommen - kam gekommen;fliegen - flog geflogen;schlafen schläft schlief geschlafen;helfen hilft half geholfen
treffen trifft traf getroffen;lassen lässt ließ gelassen;verlassen verlässt verließ verlassen
entlassen entlässt entließ entlassen;fangen fängt fing gefangen;schließen - schloss geschlossen
brechen bricht brach gebrochen;zerbrechen zerbricht zerbrach zerbrochen;ziehen - zog gezogen
werfen wirft warf geworfen;halten hält hielt gehalten;streichen - strich gestrichen;waschen wäscht wusch gewaschen
tragen trägt trug getragen;verlieren - verlor verloren;gewinnen - gewann gewonnen;vergessen vergisst vergaß vergessen
verstehen - verstand verstanden;begreifen - begriff begriffen;besprechen bespricht besprach besprochen
sprechen spricht sprach gesprochen
greifen - griff gegriffen;singen - sang gesungen;sterben stirbt starb gestorben;wachsen wächst wuchs gewachsen
beginnen - begann begonnen;unternehmen unternimmt unternahm unternommen;erwerben erwirbt erwarb erworben
heben - hob gehoben
überfallen überfällt überfiel überfallen
"""

ADJECTIVES = """
old.person betagt;old.thing alt;young jung;new neu;big groß;small klein;good gut;bad schlecht;beautiful schön
ugly hässlich;rich reich/wohlhabend;poor.money arm;poor.quality mangelhaft/dürftig;famous berühmt/bekannt
strong.body stark
strong.taste kräftig;weak.body schwach/kraftlos;weak.taste dünn;heavy schwer;light.weight leicht;light.colour hell
dark dunkel
hard.difficult schwierig/kompliziert;hard.firm hart;easy einfach;short.body klein;short.time kurz;short.text knapp
long lang;tall groß
right.correct richtig/korrekt;wrong falsch;sharp.blade scharf;sharp.mind scharfsinnig;cold.thing kalt
cold.heart kaltherzig/gefühllos
warm warm;red rot;blue blau;green grün;white weiß;black schwarz;clean sauber;dirty schmutzig/dreckig;happy glücklich
sad traurig/betrübt;tired müde/erschöpft;sick krank;clever klug/schlau;stupid dumm;honest ehrlich/aufrichtig
brave mutig/tapfer
dangerous gefährlich;expensive teuer/kostspielig;cheap billig/günstig;important wichtig/bedeutend;secret geheim
empty leer;full voll
slow langsam;fast schnell;modern modern
"""
BY_VERB = {  # another word for an adverb with these verbs
    "badly.much": {"dringend": "need"},
    "carefully": {
        "aufmerksam": "read look watch follow",
        "sorgfältig": "write draw.picture paint repair build raise.child change",
    },
}
STEMS = {"dunkel": "dunkl", "teuer": "teur", "müde": "müd", "hoch": "hoh"}
ADVERBS = """
quickly schnell/rasch;slowly langsam;carefully vorsichtig/behutsam;quietly leise;well gut;badly.skill schlecht
badly.much sehr;secretly heimlich;happily fröhlich;angrily wütend/zornig;immediately sofort/unverzüglich;gladly gern
patiently geduldig;often oft/häufig;always immer;sometimes manchmal;usually normalerweise/gewöhnlich;rarely selten
yesterday gestern;recently kürzlich/neulich;suddenly plötzlich;finally schließlich/endlich;today heute;now jetzt/nun
tomorrow morgen;soon bald;perhaps vielleicht;probably wahrscheinlich/vermutlich;fortunately glücklicherweise/zum Glück
really wirklich;already schon/bereits;very sehr;too zu;quite ziemlich/recht;extremely äußerst/extrem
here hier;there dort
"""
# key | case | preposition; then "preposition: nouns that take another one" ("town" is a name of a town)
PREPOSITIONS = """
in | dat | in | auf: street island
at | dat | an | auf: market | in: city village house hospital museum office hotel theatre library
near | gen | in der Nähe |
behind | dat | hinter |
in_front_of | dat | vor |
on | dat | auf | an: bank.river
under | dat | unter |
to | acc | in | auf: island market mountain field street bridge | nach: town
from | dat | aus | von: station castle island market mountain bridge person organisation
with | dat | mit |
without | acc | ohne |
during | gen | während |
after | dat | nach |
before | dat | vor |
in_time | dat | an | in: summer winter night year month week
about | acc | über |
for | acc | für |
"""
TO_ZU = "house station castle harbour church court river tower bank.river".split()  # "zu" with the dative, not "in"
SUBORDINATORS = {
    "because": "weil", "when": "als", "although": "obwohl", "if": "wenn", "while": "während", "before": "bevor",
    "after": "nachdem",
}  # fmt: skip
NEWS_SUBORDINATORS = {"because": "da", "if": "falls", "although": "obgleich", "before": "ehe"}  # as rarer choices
COORDINATORS = {"and": "und", "but": "aber", "or": "oder"}
