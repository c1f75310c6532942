version=2
# The body of an RFC 3164 message begins with the blank after its tag.
rule=ssh,login: Accepted %auth.method:word% for %user:word% from %ip:ipv4% port %port:number% %rest:rest%
rule=http: "%request:char-to:"%" %status:number% %seconds:float% %cached:word%
rule=quoted: said %text:rest%
