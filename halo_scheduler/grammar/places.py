"""The codes and names of countries and regions with their own holidays."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import listed, shown

# The countries and regions of the library `holidays`; most regions have their local name.
_PLACES = """
AF Afghanistan; AL Albania; DZ Algeria; AS American Samoa; AD Andorra| 02 Canillo| 03 Encamp| 04 La Massana| 05
Ordino| 06 Sant Julià de Lòria| 07 Andorra la Vella| 08 Escaldes-Engordany; AO Angola; AI Anguilla; AQ Antarctica;
AG Antigua and Barbuda; AR Argentina| A Salta| B Buenos Aires| C Ciudad Autónoma de Buenos Aires| D San Luis| E
Entre Ríos| F La Rioja| G Santiago del Estero| H Chaco| J San Juan| K Catamarca| L La Pampa| M Mendoza| N Misiones|
P Formosa| Q Neuquén| R Río Negro| S Santa Fe| T Tucumán| U Chubut| V Tierra del Fuego| W Corrientes| X Córdoba| Y
Jujuy| Z Santa Cruz; AM Armenia| AG Aragatsotn| AR Ararat| AV Armavir| ER Erevan| GR Geġark'unik'| KT Kotayk'| LO
Loṙi| SH Širak| SU Syunik'| TV Tavuš| VD Vayoć Jor; AW Aruba; AU Australia| ACT Australian Capital Territory| NSW
New South Wales| NT Northern Territory| QLD Queensland| SA South Australia| TAS Tasmania| VIC Victoria| WA Western
Australia; AT Austria| 1 Burgenland| 2 Carinthia| 3 Lower Austria| 4 Upper Austria| 5 Salzburg| 6 Styria| 7 Tyrol| 8
Vorarlberg| 9 Vienna; AZ Azerbaijan; BS Bahamas; BH Bahrain; BD Bangladesh; BB Barbados; BY Belarus; BE Belgium|
Flemish Flemish| French French| German German; BZ Belize; BJ Benin; BM Bermuda; BT Bhutan| 11 Paro| 12 Chhukha| 13
Haa| 14 Samtse| 15 Thimphu| 21 Tsirang| 22 Dagana| 23 Punakha| 24 Wangdue Phodrang| 31 Sarpang| 32 Trongsa| 33
Bumthang| 34 Zhemgang| 41 Trashigang| 42 Monggar| 43 Pema Gatshel| 44 Lhuentse| 45 Samdrup Jongkhar| GA Gasa| TY
Trashi Yangtse; BO Bolivia| B El Beni| C Cochabamba| H Chuquisaca| L La Paz| N Pando| O Oruro| P Potosí| S Santa
Cruz| T Tarija; BA Bosnia and Herzegovina| BIH Federacija Bosne i Hercegovine| BRC Brčko distrikt| SRP Republika
Srpska; BW Botswana; BV Bouvet Island; BR Brazil| AC Acre| AL Alagoas| AM Amazonas| AP Amapá| BA Bahia| CE Ceará| DF
Distrito Federal| ES Espírito Santo| GO Goiás| MA Maranhão| MG Minas Gerais| MS Mato Grosso do Sul| MT Mato Grosso|
PA Pará| PB Paraíba| PE Pernambuco| PI Piauí| PR Paraná| RJ Rio de Janeiro| RN Rio Grande do Norte| RO Rondônia| RR
Roraima| RS Rio Grande do Sul| SC Santa Catarina| SE Sergipe| SP São Paulo| TO Tocantins; IO British Indian Ocean
Territory; VG British Virgin Islands; BN Brunei; BG Bulgaria; BF Burkina Faso; BI Burundi; CV Cabo Verde| BR Brava|
BV Boa Vista| CA Santa Catarina| CF Santa Catarina do Fogo| CR Santa Cruz| MA Maio| MO Mosteiros| PA Paul| PN Porto
Novo| PR Praia| RB Ribeira Brava| RG Ribeira Grande| RS Ribeira Grande de Santiago| SD São Domingos| SF São Filipe|
SL SL| SM São Miguel| SO São Lourenço dos Órgãos| SS São Salvador do Mundo| SV São Vicente| TA Tarrafal| TS Tarrafal
de São Nicolau; KH Cambodia; CM Cameroon; CA Canada| AB Alberta| BC British Columbia| MB Manitoba| NB New Brunswick|
NL Newfoundland and Labrador| NS Nova Scotia| NT Northwest Territories| NU Nunavut| ON Ontario| PE Prince Edward
Island| QC Quebec| SK Saskatchewan| YT Yukon; BQ Caribbean Netherlands| BON Bonaire| SAB Saba| STA Sint Eustatius;
KY Cayman Islands; CF Central African Republic; TD Chad; CL Chile| AI Aisén del General Carlos Ibañez del Campo| AN
Antofagasta| AP Arica y Parinacota| AR La Araucanía| AT Atacama| BI Biobío| CO Coquimbo| LI Libertador General
Bernardo O'Higgins| LL Los Lagos| LR Los Ríos| MA Magallanes| ML Maule| NB Ñuble| RM Región Metropolitana de
Santiago| TA Tarapacá| VS Valparaíso; CN China; CX Christmas Island; CC Cocos Islands; CO Colombia; KM Comoros; CG
Congo; CK Cook Islands; CR Costa Rica; HR Croatia; CU Cuba; CW Curaçao; CY Cyprus; CZ Czechia; CD DR Congo; DK
Denmark; DJ Djibouti; DM Dominica; DO Dominican Republic; EC Ecuador; EG Egypt; SV El Salvador| AH Ahuachapán| CA
Cabañas| CH Chalatenango| CU Cuscatlán| LI La Libertad| MO Morazán| PA La Paz| SA Santa Ana| SM San Miguel| SO
Sonsonate| SS San Salvador| SV San Vicente| UN La Unión| US Usulután; GQ Equatorial Guinea| AN Annobón| BN Bioko
Norte| BS Bioko Sur| CS Centro Sur| DJ Djibloho| KN Kié-Ntem| LI Litoral| WN Wele-Nzas; ER Eritrea; EE Estonia; SZ
Eswatini; ET Ethiopia; FK Falkland Islands; FO Faroe Islands; FJ Fiji; FI Finland| 01 Ahvenanmaan maakunta| 02
Etelä-Karjala| 03 Etelä-Pohjanmaa| 04 Etelä-Savo| 05 Kainuu| 06 Kanta-Häme| 07 Keski-Pohjanmaa| 08 Keski-Suomi| 09
Kymenlaakso| 10 Lappi| 11 Pirkanmaa| 12 Pohjanmaa| 13 Pohjois-Karjala| 14 Pohjois-Pohjanmaa| 15 Pohjois-Savo| 16
Päijät-Häme| 17 Satakunta| 18 Uusimaa| 19 Varsinais-Suomi; FR France| 57 Moselle| 6AE Alsace| 971 Guadeloupe| 972
Martinique| 973 Guyane| 974 La Réunion| 976 Mayotte| BL Saint-Barthélemy| MF Saint-Martin| NC Nouvelle-Calédonie| PF
Polynésie Française| PM Saint-Pierre-et-Miquelon| TF Terres australes françaises| WF Wallis-et-Futuna; GF French
Guiana; PF French Polynesia; TF French Southern Territories; GA Gabon; GM Gambia; GE Georgia; DE Germany| BB
Brandenburg| BE Berlin| BW Baden-Württemberg| BY Bavaria| HB Bremen| HE Hesse| HH Hamburg| MV
Mecklenburg-Vorpommern| NI Lower Saxony| NW North Rhine-Westphalia| RP Rhineland-Palatinate| SH Schleswig-Holstein|
SL Saarland| SN Saxony| ST Saxony-Anhalt| TH Thuringia; GH Ghana; GI Gibraltar; GR Greece; GL Greenland; GD Grenada;
GP Guadeloupe; GU Guam; GT Guatemala; GG Guernsey; GN Guinea; GW Guinea-Bissau; GY Guyana; HT Haiti; HM Heard Island
and McDonald Islands; HN Honduras; HK Hong Kong; HU Hungary; IS Iceland; IN India| AN Andaman and Nicobar Islands|
AP Andhra Pradesh| AR Arunachal Pradesh| AS Assam| BR Bihar| CG Chhattisgarh| CH Chandigarh| DH Dadra and Nagar
Haveli and Daman and Diu| DL Delhi| GA GA| GJ Gujarat| HP Himachal Pradesh| HR Haryana| JH Jharkhand| JK Jammu and
Kashmir| KA Karnataka| KL Kerala| LA Ladakh| LD Lakshadweep| MH Maharashtra| ML Meghalaya| MN Manipur| MP Madhya
Pradesh| MZ Mizoram| NL Nagaland| OD Odisha| PB Punjab| PY Puducherry| RJ Rajasthan| SK Sikkim| TN Tamil Nadu| TR
Tripura| TS Telangana| UK Uttarakhand| UP Uttar Pradesh| WB West Bengal; ID Indonesia; IR Iran; IQ Iraq; IE Ireland;
IM Isle of Man; IL Israel; IT Italy| AG Agrigento| AL Alessandria| AN Ancona| AO Aosta| AP Ascoli Piceno| AQ
L'Aquila| AR Arezzo| AT Asti| AV Avellino| BA Bari| BG Bergamo| BI Biella| BL Belluno| BN Benevento| BO Bologna| BR
Brindisi| BS Brescia| BT Barletta-Andria-Trani| BZ Bolzano| CA Cagliari| CB Campobasso| CE Caserta| CH Chieti| CL
Caltanissetta| CN Cuneo| CO Como| CR Cremona| CS Cosenza| CT Catania| CZ Catanzaro| EN Enna| FC Forli-Cesena| FE
Ferrara| FG Foggia| FI Firenze| FM Fermo| FR Frosinone| GE Genova| GO Gorizia| GR Grosseto| IM Imperia| IS Isernia|
KR Crotone| LC Lecco| LE Lecce| LI Livorno| LO Lodi| LT Latina| LU Lucca| MB Monza e Brianza| MC Macerata| ME
Messina| MI Milano| MN Mantova| MO Modena| MS Massa-Carrara| MT Matera| NA Napoli| NO Novara| NU Nuoro| OR Oristano|
PA Palermo| PC Piacenza| PD Padova| PE Pescara| PG Perugia| PI Pisa| PN Pordenone| PO Prato| PR Parma| PT Pistoia|
PU Pesaro e Urbino| PV Pavia| PZ Potenza| RA Ravenna| RC Reggio Calabria| RE Reggio Emilia| RG Ragusa| RI Rieti| RM
Roma| RN Rimini| RO Rovigo| SA Salerno| SI Siena| SO Sondrio| SP La Spezia| SR Siracusa| SS Sassari| SU Sud
Sardegna| SV Savona| TA Taranto| TE Teramo| TN Trento| TO Torino| TP Trapani| TR Terni| TS Trieste| TV Treviso| UD
Udine| VA Varese| VB Verbano-Cusio-Ossola| VC Vercelli| VE Venezia| VI Vicenza| VR Verona| VT Viterbo| VV Vibo
Valentia| Andria Andria| Cesena Cesena| Forli Forlì| Pesaro Pesaro| Trani Trani| Urbino Urbino; CI Ivory Coast; JM
Jamaica; JP Japan; JE Jersey; JO Jordan; KZ Kazakhstan; KE Kenya; KI Kiribati; XK Kosovo; KW Kuwait; KG Kyrgyzstan;
LA Laos; LV Latvia; LB Lebanon; LS Lesotho; LR Liberia; LY Libya; LI Liechtenstein; LT Lithuania; LU Luxembourg; MO
Macao| I Concelho das Ilhas| M Concelho de Macau; MG Madagascar; MW Malawi; MY Malaysia| 01 Johor| 02 Kedah| 03
Kelantan| 04 Melaka| 05 Negeri Sembilan| 06 Pahang| 07 Pulau Pinang| 08 Perak| 09 Perlis| 10 Selangor| 11
Terengganu| 12 Sabah| 13 Sarawak| 14 Wilayah Persekutuan Kuala Lumpur| 15 Wilayah Persekutuan Labuan| 16 Wilayah
Persekutuan Putrajaya; MV Maldives; ML Mali; MT Malta; MH Marshall Islands; MQ Martinique; MR Mauritania; MU
Mauritius; YT Mayotte; MX Mexico; FM Micronesia| KSA Kosrae| PNI Pohnpei| TRK Chuuk| YAP YAP; MD Moldova; MC Monaco;
MN Mongolia; ME Montenegro; MS Montserrat; MA Morocco; MZ Mozambique; MM Myanmar; NA Namibia; NR Nauru; NP Nepal; NL
Netherlands; NC New Caledonia; NZ New Zealand| AUK Auckland| BOP Bay of Plenty| CAN Canterbury| CIT Chatham Islands
Territory| GIS Gisborne| HKB Hawke's Bay| MBH Marlborough| MWT Manawatū Whanganui| NSN Nelson| NTL Northland| OTA
Otago| STL Southland| TAS Tasman| TKI Taranaki| WGN Greater Wellington| WKO Waikato| WTC West Coast; NI Nicaragua|
AN Costa Caribe Norte| AS Costa Caribe Sur| BO Boaco| CA Carazo| CI Chinandega| CO Chontales| ES Estelí| GR Granada|
JI Jinotega| LE León| MD Madriz| MN Managua| MS Masaya| MT Matagalpa| NS Nueva Segovia| RI Rivas| SJ Río San Juan;
NE Niger; NG Nigeria; NU Niue; NF Norfolk Island; KP North Korea; MK North Macedonia; MP Northern Mariana Islands;
NO Norway| 03 Oslo| 11 Rogaland| 15 Møre og Romsdal| 18 Nordland| 21 Svalbard| 22 Jan Mayen| 31 Østfold| 32
Akershus| 33 Buskerud| 34 Innlandet| 39 Vestfold| 40 Telemark| 42 Agder| 46 Vestland| 50 Trööndelage| 55 Romssa| 56
Finmarkun; OM Oman; PK Pakistan; PW Palau; PS Palestine; PA Panama; PG Papua New Guinea; PY Paraguay; PE Peru; PH
Philippines; PN Pitcairn Islands; PL Poland; PT Portugal| 01 Aveiro| 02 Beja| 03 Braga| 04 Bragança| 05 Castelo
Branco| 06 Coimbra| 07 Évora| 08 Faro| 09 Guarda| 10 Leiria| 11 Lisboa| 12 Portalegre| 13 Porto| 14 Santarém| 15
Setúbal| 16 Viana do Castelo| 17 Vila Real| 18 Viseu| 20 Região Autónoma dos Açores| 30 Região Autónoma da Madeira;
PR Puerto Rico; QA Qatar; RO Romania; RU Russia; RW Rwanda; RE Réunion; BL Saint Barthélemy; SH Saint Helena,
Ascension and Tristan da Cunha| AC Ascension| HL Saint Helena| TA Tristan da Cunha; KN Saint Kitts and Nevis; LC
Saint Lucia; MF Saint Martin; PM Saint Pierre and Miquelon; VC Saint Vincent and the Grenadines; WS Samoa; SM San
Marino; SA Saudi Arabia; SN Senegal; RS Serbia; SC Seychelles; SL Sierra Leone; SG Singapore; SX Sint Maarten; SK
Slovakia; SI Slovenia; SB Solomon Islands| CE Central| CH Choiseul| CT Capital Territory| GU Guadalcanal| IS Isabel|
MK Makira-Ulawa| ML Malaita| RB Rennell and Bellona| TE Temotu| WE Western; SO Somalia; ZA South Africa; GS South
Georgia and the South Sandwich Islands; KR South Korea; SS South Sudan; ES Spain| AN Andalusia| AR Aragon| AS
Asturias| CB Cantabria| CE Ceuta| CL Castile and León| CM Castilla-La Mancha| CN Canary Islands| CT Catalonia| EX
Extremadura| GA Galicia| IB Islas Baleares| MC Murcia| MD Madrid| ML Melilla| NC Navarre| PV Basque Country| RI La
Rioja| VC Valenciana; LK Sri Lanka; SD Sudan; SR Suriname; SJ Svalbard and Jan Mayen; SE Sweden; CH Switzerland| AG
Aargau| AI Appenzell Innerrhoden| AR Appenzell Ausserrhoden| BE Bern| BL Basel-Landschaft| BS Basel-Stadt| FR
Fribourg| GE Geneva| GL Glarus| GR Graubünden| JU Jura| LU Lucerne| NE Neuchâtel| NW Nidwalden| OW Obwalden| SG
Sankt Gallen| SH Schaffhausen| SO Solothurn| SZ Schwyz| TG Thurgau| TI Ticino| UR UR| VD Vaud| VS Valais| ZG ZG| ZH
Zurich; SY Syria; ST São Tomé and Príncipe| 01 Água Grande| 02 Cantagalo| 03 Caué| 04 Lembá| 05 Lobata| 06 Mé-Zóchi|
P Príncipe; TW Taiwan; TJ Tajikistan; TZ Tanzania; TH Thailand; TL Timor-Leste; TG Togo; TK Tokelau; TO Tonga; TT
Trinidad and Tobago; TN Tunisia; TM Turkmenistan; TC Turks and Caicos Islands; TV Tuvalu| FUN Funafuti| NIT Niutao|
NKF Nukufetau| NKL Nukulaelae| NMA Nanumea| NMG Nanumaga| NUI NUI| VAI Vaitupu; TR Türkiye; UG Uganda; UA Ukraine;
AE United Arab Emirates; GB United Kingdom| ENG England| NIR Northern Ireland| SCT Scotland| WLS Wales; US United
States| AK Alaska| AL Alabama| AR Arkansas| AS American Samoa| AZ Arizona| CA California| CO Colorado| CT
Connecticut| DC District of Columbia| DE Delaware| FL Florida| GA Georgia| GU Guam| HI Hawaii| IA Iowa| ID Idaho| IL
Illinois| IN Indiana| KS Kansas| KY Kentucky| LA Louisiana| MA Massachusetts| MD Maryland| ME Maine| MI Michigan| MN
Minnesota| MO Missouri| MP Northern Mariana Islands| MS Mississippi| MT Montana| NC North Carolina| ND North Dakota|
NE Nebraska| NH New Hampshire| NJ New Jersey| NM New Mexico| NV Nevada| NY New York| OH Ohio| OK Oklahoma| OR
Oregon| PA Pennsylvania| PR Puerto Rico| RI Rhode Island| SC South Carolina| SD South Dakota| TN Tennessee| TX
Texas| UM United States Minor Outlying Islands| UT Utah| VA Virginia| VI US Virgin Islands| VT Vermont| WA
Washington| WI Wisconsin| WV West Virginia| WY Wyoming; UM United States Minor Outlying Islands; VI United States
Virgin Islands; UY Uruguay; UZ Uzbekistan; VU Vanuatu; VA Vatican City; VE Venezuela; VN Vietnam; WF Wallis and
Futuna; EH Western Sahara; YE Yemen; ZM Zambia; ZW Zimbabwe; AX Åland Islands
"""
_OTHER_NAMES = {
    "america": "US",
    "britain": "GB",
    "great britain": "GB",
    "holland": "NL",
    "swiss": "CH",
    "turkey": "TR",
    "uk": "GB",
    "usa": "US",
}
_ARTICLE = re.compile(r"the\s+", re.IGNORECASE)
_WORD = re.compile(r"\s*[(]?[\w'’–-]+(?:\.(?=\w))?[)]?,?")
_MOST_WORDS = 12
_SIMILARITY = 0.75
_MOST_SIMILAR = 3


class Country(NamedTuple):
    """The name of a country, and the names of its regions by code."""

    name: str
    regions: Mapping[str, str]


@cache
def countries() -> dict[str, Country]:
    """Return all countries by code, sorted by name."""
    found: dict[str, Country] = {}
    for text in " ".join(_PLACES.split()).split("; "):
        country, *regions = (part.split(" ", 1) for part in text.split("| "))
        found[country[0]] = Country(country[1], dict(regions))
    return found


def place_name(place: str) -> str:
    """Return "Germany" for DE, "Germany (Bavaria)" for DE-BY."""
    code, _, region = place.partition("-")
    country = countries()[code]
    return f"{country.name} ({country.regions[region]})" if region else country.name


@cache
def _by_name() -> dict[str, str]:
    """Return the code of each place by every name that it has."""
    found: dict[str, str] = {}
    regions: dict[str, list[str]] = {}
    for code, country in countries().items():
        found |= {_plain(code): code, _plain(country.name): code}
        for region, name in country.regions.items():
            place = f"{code}-{region}"
            found |= {_plain(place): place, _plain(place_name(place)): place}
            found.setdefault(_plain(f"{name} {country.name}"), place)
            regions.setdefault(_plain(name), []).append(place)
    # A region can be found by its name alone if no other place has that name.
    alone = {name: places[0] for name, places in regions.items() if len(places) == 1}
    return alone | found | _OTHER_NAMES


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.casefold())
    return " ".join(re.findall(r"\w+", "".join(one for one in letters if not unicodedata.combining(one))))


def find_place(text: str) -> str:
    """Return the code of a place from its code or name; ScheduleError suggests similar names."""
    place = _by_name().get(_plain(text).removeprefix("the "))
    if place is not None:
        return place
    code = text.upper().partition("-")[0]
    if code in countries() and "-" in text:
        known = [f"{code}-{region}" for region in countries()[code].regions]
        advice = f"its regions are {', '.join(known)}" if known else f"write {code} for the whole country"
        raise ScheduleError(f"{place_name(code)} has no region {shown(text)}; {advice}")
    similar = list(dict.fromkeys(_by_name()[name] for name in _similar_names(_plain(text))))
    words = listed([f"{one} for {place_name(one)}" for one in similar], last="or") if similar else ""
    advice = f"did you mean {words}?" if words else "write a code like DE or DE-BY"
    raise ScheduleError(f"unknown country or region {shown(text)}; {advice}")


@lru_cache(maxsize=64)
def _similar_names(name: str) -> list[str]:
    """Return the names most like one; to compare it with all of them takes longer than to read a phrase."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for an unknown name

    same_initial = [known for known in _by_name() if known[:1] == name[:1]]
    found = get_close_matches(name, same_initial, _MOST_SIMILAR, _SIMILARITY)
    return found or get_close_matches(name, _by_name(), _MOST_SIMILAR, _SIMILARITY)


def read_place(text: str, position: int) -> tuple[str, int] | None:
    """Return the place with the longest name at a position in a text, and the end of the name."""
    article = _ARTICLE.match(text, position)
    start = end = position if article is None else article.end()
    found: tuple[str, int] | None = None
    for _ in range(_MOST_WORDS):
        word = _WORD.match(text, end)
        if word is None:
            break
        end = word.end()
        place = _by_name().get(_plain(text[start:end]))
        if place is not None:
            found = place, end - int(text[end - 1] == ",")
    return found
