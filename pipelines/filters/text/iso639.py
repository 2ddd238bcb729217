"""Codes of languages: those of ISO 639-1 where a language has one, whatever a library calls it.

Source: ISO 639-3 code tables: the two-letter code of each three-letter one, and, for those that it
takes for several languages, the one that models are trained on (arb for Arabic).
"""

import re

_LABEL = re.compile(r"([a-z]{2,3})(?:[-_][A-Za-z]+)?$")

_TWO_LETTERS = """
aar=aa abk=ab afr=af aka=ak amh=am ara=ar arg=an asm=as ava=av ave=ae aym=ay aze=az bak=ba bam=bm
bel=be ben=bn bis=bi bod=bo bos=bs bre=br bul=bg cat=ca ces=cs cha=ch che=ce chu=cu chv=cv cor=kw
cos=co cre=cr cym=cy dan=da deu=de div=dv dzo=dz ell=el eng=en epo=eo est=et eus=eu ewe=ee fao=fo
fas=fa fij=fj fin=fi fra=fr fry=fy ful=ff gla=gd gle=ga glg=gl glv=gv grn=gn guj=gu hat=ht hau=ha
hbs=sh heb=he her=hz hin=hi hmo=ho hrv=hr hun=hu hye=hy ibo=ig ido=io iii=ii iku=iu ile=ie ina=ia
ind=id ipk=ik isl=is ita=it jav=jv jpn=ja kal=kl kan=kn kas=ks kat=ka kau=kr kaz=kk khm=km kik=ki
kin=rw kir=ky kom=kv kon=kg kor=ko kua=kj kur=ku lao=lo lat=la lav=lv lim=li lin=ln lit=lt ltz=lb
lub=lu lug=lg mah=mh mal=ml mar=mr mkd=mk mlg=mg mlt=mt mon=mn mri=mi msa=ms mya=my nau=na nav=nv
nbl=nr nde=nd ndo=ng nep=ne nld=nl nno=nn nor=no nya=ny oci=oc oji=oj ori=or orm=om oss=os pan=pa
pli=pi pol=pl por=pt pus=ps que=qu roh=rm ron=ro run=rn rus=ru sag=sg san=sa sin=si slk=sk slv=sl
sme=se smo=sm sna=sn snd=sd som=so sot=st spa=es sqi=sq srd=sc srp=sr ssw=ss sun=su swa=sw swe=sv
tah=ty tam=ta tat=tt tel=te tgk=tg tgl=tl tha=th tir=ti ton=to tsn=tn tso=ts tuk=tk tur=tr twi=tw
uig=ug ukr=uk urd=ur uzb=uz ven=ve vie=vi vol=vo wln=wa wol=wo xho=xh yid=yi yor=yo zha=za zho=zh
zul=zu
"""
_OF_SEVERAL = """
arb=ar als=sq ayr=ay azj=az cmn=zh ekk=et fil=tl gaz=om gug=gn khk=mn kmr=ku lvs=lv npi=ne ory=or
pbt=ps pes=fa quy=qu
plt=mg swh=sw uzn=uz ydd=yi zsm=ms
"""
_OTHER_NAMES = "nb=no nob=no iw=he in=id ji=yi jw=jv mo=ro"  # no is Bokmål where nn is Nynorsk

CODES = dict(
    pair.split("=") for pair in (*_TWO_LETTERS.split(), *_OF_SEVERAL.split(), *_OTHER_NAMES.split())
)


def code_of(label: str) -> str:
    """The code of a library's label, whose script does not count; the label where it is no code.

    >>> [code_of(label) for label in ("en", "eng_Latn", "zh-Hant", "nb", "ceb", "english")]
    ['en', 'en', 'zh', 'no', 'ceb', 'english']
    """
    found = _LABEL.match(label)
    return CODES.get(found[1], found[1]) if found else label
