#pragma once

#include <chrono>  // in no header of all
