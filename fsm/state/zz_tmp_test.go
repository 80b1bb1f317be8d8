package state
import ("testing";"fmt";"os";"strconv";"github.com/berth-gpu/berth/fsm/command")
func TestZZ(t *testing.T){
 seen:=map[string]int{}
 n,_:=strconv.Atoi(os.Getenv("ZZ")); 
 for seed:=range uint64(n) {
  g:=newGen(seeded(seed))
  bad:=false
  func(){
   defer func(){ if r:=recover();r!=nil&&r!="stop"{panic(r)} }()
   write(t,g,State{},400,func(b,a State,e logEntry,o outcome){
    err:=Check(&a)
    if err==nil { err=CheckMove(&b,&a); if err==nil&&len(o.commands)==1{err=CheckStep(&b,&a)} }
    if err!=nil&&!bad { bad=true
      v:=Violations(err)[0]
      key:=v.Invariant.String()
      for _,c:=range o.commands{key+=" "+c.Kind().String()}
      seen[v.Invariant.String()]++
      if seen[v.Invariant.String()]<4 { s:=fmt.Sprintf("seed %d entry %d: %s\n",seed,e.Index,v); for i,c:=range o.commands{ if c.Kind()!=command.KindSubmit{s+=fmt.Sprintf("    %+v -> %v\n",c.Body,o.results[i].Code)}}; if len(s)>3000{s=s[:3000]}; fmt.Println(s)}
      panic("stop")
    }
   })
  }()
 }
 fmt.Println(seen)
}
