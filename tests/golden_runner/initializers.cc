#include "kusari/tests/golden_runner/initializers.h"

#include <functional>
#include <map>

#include "kusari/framework/initializers/constant.h"
#include "kusari/framework/initializers/glorot.h"
#include "kusari/framework/initializers/he.h"
#include "kusari/framework/initializers/lecun.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/initializers/orthogonal.h"
#include "kusari/framework/initializers/sampling.h"
#include "kusari/framework/initializers/uniform.h"
#include "kusari/tests/golden_runner/args.h"
#include "kusari/tests/golden_runner/compare.h"

namespace kusari::golden {
namespace {

namespace I = initializers;

template <class T>
Initializer scaled(Args& a, double scale) {
  return T(a.number("scale", scale));
}

I::FanOption fan_option(Args& a) {
  const std::string name = a.text("fan_option", "fan_in");
  if (name == "fan_in") return I::FanOption::fan_in;
  if (name == "fan_out") return I::FanOption::fan_out;
  throw std::runtime_error("fan_option=" + name);
}

const std::map<std::string, std::function<Initializer(Args&)>> kInitializers = {
    {"Constant", [](Args& a) { return I::Constant(a.number("fill_value", 0)); }},
    {"DownsamplingConvFilter", [](Args&) { return I::DownsamplingConvFilter(); }},
    {"GlorotNormal", [](Args& a) { return scaled<I::GlorotNormal>(a, 1); }},
    {"GlorotUniform", [](Args& a) { return scaled<I::GlorotUniform>(a, 1); }},
    {"HeNormal", [](Args& a) { return I::HeNormal(a.number("scale", 1), fan_option(a)); }},
    {"HeUniform", [](Args& a) { return scaled<I::HeUniform>(a, 1); }},
    {"Identity", [](Args& a) { return scaled<I::Identity>(a, 1); }},
    {"LeCunNormal", [](Args& a) { return scaled<I::LeCunNormal>(a, 1); }},
    {"LeCunUniform", [](Args& a) { return scaled<I::LeCunUniform>(a, 1); }},
    {"NaN", [](Args&) { return I::NaN(); }},
    {"Normal", [](Args& a) { return scaled<I::Normal>(a, 0.05); }},
    {"One", [](Args&) { return I::One(); }},
    {"Orthogonal", [](Args& a) { return scaled<I::Orthogonal>(a, 1.1); }},
    {"Uniform", [](Args& a) { return scaled<I::Uniform>(a, 0.05); }},
    {"UpsamplingDeconvFilter", [](Args&) { return I::UpsamplingDeconvFilter(); }},
    {"Zero", [](Args&) { return I::Zero(); }},
};

}  // namespace

Initializer make_initializer(const std::string& name, const Json& ctor) {
  const auto entry = kInitializers.find(name);
  if (entry == kInitializers.end()) throw Unsupported("initializer " + name);
  const Inputs none;
  Args args(ctor, Json::object(), none);
  Initializer made = entry->second(args);
  args.check_all_used();
  return made;
}

}  // namespace kusari::golden
