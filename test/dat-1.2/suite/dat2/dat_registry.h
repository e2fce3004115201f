#include "dat-1.2/dat/udat.h"
#include "dat-1.2/dat/dat_registry.h"
