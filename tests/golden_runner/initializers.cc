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

I::FanOption fan_option(Args& a) {
  return a.choice<I::FanOption>("fan_option", {{"fan_in", I::FanOption::fan_in}, {"fan_out", I::FanOption::fan_out}});
}

I::OrthogonalMode orthogonal_mode(Args& a) {
  return a.choice<I::OrthogonalMode>("mode", {{"auto", I::OrthogonalMode::automatic},
                                              {"embedding", I::OrthogonalMode::embedding},
                                              {"projection", I::OrthogonalMode::projection},
                                              {"basis", I::OrthogonalMode::basis}});
}

template <class T>
Initializer random_scaled(Args& a) {
  a.refuse("rng");
  return T(a.number("scale"), a.optional_dtype("dtype"));
}

template <class T>
Initializer filter(Args& a) {
  a.refuse("interpolation");  // filters are linear
  return T(a.optional_dtype("dtype"));
}

const std::map<std::string, std::function<Initializer(Args&)>> kInitializers = {
    {"Constant", [](Args& a) { return I::Constant(a.number("fill_value"), a.optional_dtype("dtype")); }},
    {"DownsamplingConvFilter", filter<I::DownsamplingConvFilter>},
    {"GlorotNormal", random_scaled<I::GlorotNormal>},
    {"GlorotUniform", random_scaled<I::GlorotUniform>},
    {"HeNormal",
     [](Args& a) {
       a.refuse("rng");
       return I::HeNormal(a.number("scale"), fan_option(a), a.optional_dtype("dtype"));
     }},
    {"HeUniform", random_scaled<I::HeUniform>},
    {"Identity", [](Args& a) { return I::Identity(a.number("scale"), a.optional_dtype("dtype")); }},
    {"LeCunNormal", random_scaled<I::LeCunNormal>},
    {"LeCunUniform", random_scaled<I::LeCunUniform>},
    {"NaN", [](Args& a) { return I::NaN(a.optional_dtype("dtype")); }},
    {"Normal", random_scaled<I::Normal>},
    {"One", [](Args& a) { return I::One(a.optional_dtype("dtype")); }},
    {"Orthogonal",
     [](Args& a) {
       a.refuse("rng");
       return I::Orthogonal(a.number("scale"), orthogonal_mode(a), a.optional_dtype("dtype"));
     }},
    {"Uniform", random_scaled<I::Uniform>},
    {"UpsamplingDeconvFilter", filter<I::UpsamplingDeconvFilter>},
    {"Zero", [](Args& a) { return I::Zero(a.optional_dtype("dtype")); }},
};

}  // namespace

Initializer make_initializer(const std::string& name, const Json& ctor) {
  const auto entry = kInitializers.find(name);
  if (entry == kInitializers.end()) throw Unsupported("initializer " + name);
  const Inputs none;
  Args args(signature_of("initializer", name), ctor, Json::object(), none);
  Initializer made = entry->second(args);
  args.check_all_used();
  return made;
}

}  // namespace kusari::golden
