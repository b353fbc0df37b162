#include <Eigen/Core>
#include <iostream>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/absent.h"
#include "shape.h"
