#include "kusari/framework/core/type_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace kusari {

std::string type_name(const std::type_info& type) {
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, nullptr),
                                                    std::free);
  std::string name = text ? text.get() : type.name();
  name = name.substr(0, name.find('<'));
  const size_t colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

}  // namespace kusari
