#pragma once

#include <string>
#include <typeinfo>

#include "kusari/framework/core/export.h"

namespace kusari {

/// The class without its namespaces and template arguments: "Linear" for kusari::links::Linear. As the compiler spells
/// it, where that has no such form (lambdas).
KUSARI_API std::string type_name(const std::type_info& type);

}  // namespace kusari
