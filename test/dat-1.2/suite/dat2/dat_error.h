#include "udat.h"
