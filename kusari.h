#pragma once

#include "kusari/framework/kusari.h"
