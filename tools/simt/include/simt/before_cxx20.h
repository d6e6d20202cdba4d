// In front of a source that is older than C++20, and so may have functions with names that are new in it.
#pragma once

#ifdef __cplusplus
#define lerp simt_lerp_of_cxx20
#include <math.h>
#undef lerp
#endif
