#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/cpu/pool.h"
