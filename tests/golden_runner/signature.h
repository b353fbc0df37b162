#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kusari/tests/golden_runner/golden_case.h"

namespace kusari::golden {

/// The parameters of one of Chainer's functions or constructors, as Python writes them:
/// "leaky_relu(x, slope=0.2)". Parsed once from the list of names beside the golden data.
struct Signature {
  struct Parameter {
    std::string name;
    bool is_required = true;
    Json default_value = nullptr;  ///< as a case would encode it: a tuple is a list, a function {"function": name}
    bool is_keyword = false;       ///< follows `*`: is not given by position
  };

  std::string name;
  std::vector<Parameter> parameters;
  bool takes_more = false;      ///< *args
  bool takes_keywords = false;  ///< **kwargs

  const Parameter* find(std::string_view parameter) const;
  /// Throws std::runtime_error for text that is no signature.
  static Signature parse(const std::string& text);
};

/// Where the list of names is looked for first: a folder of golden data. Otherwise it is the one of the sources.
void use_names_of(const Folder& folder);
/// The signature of that name in that area of the list ("function", "link", ...). Throws Unsupported when it is not
/// there.
const Signature& signature_of(const std::string& area, const std::string& name);

}  // namespace kusari::golden
