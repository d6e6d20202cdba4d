#include <simt/warp_access.h>
#include <set>
#include <map>
#include <bit>
namespace simt {
int global_sectors(const WarpAccess& w) { std::set<uint64_t> s; for (int i=0;i<32;++i) if (w.active>>i&1) for (uint64_t a=w.address[i]/32; a<=(w.address[i]+w.bytes-1)/32; ++a) s.insert(a); return s.size(); }
int least_global_sectors(const WarpAccess& w) { return (std::popcount(w.active)*w.bytes+31)/32; }
SharedCost shared_load(const WarpAccess& w) { int per = w.bytes<=4?32:128/w.bytes; int total=0, least=0; for (int f=0; f<32; f+=per) { std::map<int,std::set<uint64_t>> b; for (int i=f;i<f+per;++i) if (w.active>>i&1) for (uint64_t a=w.address[i]/4; a<=(w.address[i]+w.bytes-1)/4;++a) b[a%32].insert(a); int m=0; for (auto&[k,v]:b) m=std::max(m,(int)v.size()); total+=m; least+=m>0;} return {total,least}; }
SharedCost shared_store(const WarpAccess& w) { return shared_load(w); }
}
