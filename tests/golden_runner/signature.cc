#include "kusari/tests/golden_runner/signature.h"

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "kusari/tests/golden_runner/compare.h"

namespace kusari::golden {
namespace {

/// Reads the literals that stand as defaults in signatures.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_{text} {}

  bool skip(std::string_view token) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!skip(token)) fail("'" + std::string(token) + "' is missing");
  }
  bool is_at_end() {
    skip("");
    return at_ == text_.size();
  }

  std::string identifier() {
    skip("");
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(byte(at_)) != 0 || text_[at_] == '_' || text_[at_] == '.')) ++at_;
    if (begin == at_) fail("a name is missing");
    return std::string(text_.substr(begin, at_ - begin));
  }

  Json literal() {
    if (skip("'")) return quoted();
    if (skip("(")) return list(")");
    if (skip("[")) return list("]");
    skip("");
    if (at_ < text_.size() && (std::isdigit(byte(at_)) != 0 || text_[at_] == '-' || text_[at_] == '.')) return number();
    const std::string name = identifier();
    if (name == "None") return nullptr;
    if (name == "True") return true;
    if (name == "False") return false;
    constexpr std::string_view kNumpy = "numpy.";
    if (name.starts_with(kNumpy)) return name.substr(kNumpy.size());  // a dtype
    return {{"function", name}};
  }

 private:
  unsigned char byte(size_t i) const { return static_cast<unsigned char>(text_[i]); }
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("signature " + std::string(text_) + ": " + what + " at " + std::to_string(at_));
  }

  Json quoted() {
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) fail("an end of text is missing");
    Json value = std::string(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }

  Json list(std::string_view end) {
    Json values = Json::array();
    while (!skip(end)) {
      values.push_back(literal());
      if (!skip(",")) {
        expect(end);
        break;
      }
    }
    return values;
  }

  // 2, 1e-8, 1/3.
  Json number() {
    const size_t begin = at_;
    if (text_[at_] == '-') ++at_;
    while (at_ < text_.size() && (std::isalnum(byte(at_)) != 0 || text_[at_] == '.' ||
                                  (text_[at_] == '-' && std::tolower(byte(at_ - 1)) == 'e'))) {
      ++at_;
    }
    const std::string digits(text_.substr(begin, at_ - begin));
    if (skip("/")) return std::strtod(digits.c_str(), nullptr) / number().get<double>();
    if (digits.find_first_of(".eE") == std::string::npos) return std::strtoll(digits.c_str(), nullptr, 10);
    return std::strtod(digits.c_str(), nullptr);
  }

  std::string_view text_;
  size_t at_ = 0;
};

// What the golden data names besides Chainer's functions, or writes otherwise (its README.md).
constexpr const char* kMoreFunctions[] = {
    "op_sub(x, y)",       "op_mul(x, y)",        "op_div(x, y)",        "op_pow(x, y)",        "op_matmul(x, y)",
    "op_neg(x)",          "op_add_const(x, c)",  "op_sub_const(x, c)",  "op_mul_const(x, c)",  "op_div_const(x, c)",
    "op_pow_const(x, c)", "op_rsub_const(x, c)", "op_rdiv_const(x, c)", "op_rpow_const(x, c)", "forget(x, y)",
};

using Names = std::map<std::pair<std::string, std::string>, Signature>;

// area, name, signature, module: separated by tabs, below a line of titles.
Names read_names(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  Names names;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string area, name, text;
    std::getline(fields, area, '\t');
    std::getline(fields, name, '\t');
    std::getline(fields, text, '\t');
    names.emplace(std::pair(area, name), Signature::parse(text));
  }
  for (const char* const text : kMoreFunctions) {
    Signature signature = Signature::parse(text);
    std::pair key(std::string("function"), signature.name);
    names.insert_or_assign(std::move(key), std::move(signature));
  }
  return names;
}

std::string& path_of_names() {
  static std::string path = KUSARI_SOURCE_DIR "/tests/golden/chainer-api.tsv";
  return path;
}

}  // namespace

const Signature::Parameter* Signature::find(std::string_view parameter) const {
  for (const Parameter& p : parameters) {
    if (p.name == parameter) return &p;
  }
  return nullptr;
}

Signature Signature::parse(const std::string& text) {
  Reader reader(text);
  Signature signature;
  signature.name = reader.identifier();
  reader.expect("(");
  bool is_keyword = false;
  while (!reader.skip(")")) {
    if (reader.skip("**")) {
      reader.identifier();
      signature.takes_keywords = true;
    } else if (reader.skip("*,")) {
      is_keyword = true;
      continue;
    } else if (reader.skip("*")) {
      reader.identifier();
      signature.takes_more = is_keyword = true;
    } else {
      Parameter parameter{.name = reader.identifier(), .is_keyword = is_keyword};
      if (reader.skip("=")) {
        parameter.is_required = false;
        parameter.default_value = reader.literal();
      }
      signature.parameters.push_back(std::move(parameter));
    }
    if (!reader.skip(",")) {
      reader.expect(")");
      break;
    }
  }
  if (!reader.is_at_end()) throw std::runtime_error("signature " + text + ": there is more after it");
  return signature;
}

void use_names_of(const Folder& folder) {
  const std::string path = folder / "chainer-api.tsv";
  if (std::ifstream(path)) path_of_names() = path;
}

const Signature& signature_of(const std::string& area, const std::string& name) {
  static const Names names = read_names(path_of_names());
  const auto found = names.find({area, name});
  if (found == names.end()) throw Unsupported(area + " " + name);
  return found->second;
}

}  // namespace kusari::golden
