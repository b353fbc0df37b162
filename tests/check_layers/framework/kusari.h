#pragma once

#include "kusari/framework/core/timer.h"
