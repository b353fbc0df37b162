#include "kusari/framework/testing/link_test_case.h"

#include "kusari/framework/links/parameter.h"
#include "kusari/framework/serializers/dictionary.h"
#include "kusari/framework/testing/save_and_load.h"

namespace kusari::testing {
namespace {

template <class Part>
void attempt_link(const std::string& what, Part&& part) {
  try {
    part();
  } catch (const LinkTestError&) {
    throw;
  } catch (const TestError& error) {
    throw LinkTestError(what + ": " + error.what());
  } catch (const gradient_check::GradientError& error) {
    throw LinkTestError(what + ": " + error.what());
  }
}

Variables inputs_of(const Arrays& arrays) {
  Variables variables;
  for (const Array& array : arrays) {
    variables.push_back(array.is_defined() ? Variable(array, array.is_floating()) : Variable());
  }
  return variables;
}

}  // namespace

LinkTestError::LinkTestError(const std::string& message) : TestError(message) {}
LinkTestError::~LinkTestError() = default;

LinkTestCase::~LinkTestCase() = default;

void LinkTestCase::run() {
  run_test_forward();
  if (!skip_backward_test) run_test_backward();
  if (!skip_serialization_test) run_test_serialization();
}

void LinkTestCase::run_test_forward() {
  const std::unique_ptr<Link> link = create_link();
  const Arrays inputs = generate_inputs();
  attempt_link("forward", [&] {
    const Variables outputs = forward(*link, inputs_of(inputs));
    const Arrays expected = forward_expected(*link, inputs);
    if (outputs.size() != expected.size()) {
      throw TestError("there are " + std::to_string(outputs.size()) + " results but " +
                      std::to_string(expected.size()) + " are expected");
    }
    for (size_t i = 0; i < outputs.size(); ++i) assert_allclose(outputs[i].array(), expected[i], check_forward_options);
  });
}

void LinkTestCase::run_test_backward() {
  const std::unique_ptr<Link> link = create_link();
  Arrays inputs;
  for (const Array& input : generate_inputs()) {
    inputs.push_back(input.is_defined() && input.is_floating() ? input.astype(Dtype::float64) : input);
  }
  attempt_link("backward", [&] {
    forward(*link, inputs_of(generate_inputs()));  // makes what the first call decides
    link->to(Dtype::float64);
    gradient_check::BackwardOptions options = check_backward_options;
    if (param_names.empty()) {
      for (Parameter* parameter : link->params(false)) options.params.push_back(*parameter);
    } else {
      for (const std::string& path : param_names) options.params.push_back(link->param(path));
    }
    gradient_check::check_backward([&](const Variables& x) { return forward(*link, x); }, inputs, {}, options);
  });
}

void LinkTestCase::run_test_serialization() {
  const std::unique_ptr<Link> link = create_link(), other = create_link();
  const Arrays inputs = generate_inputs();
  const Variables outputs = forward(*link, inputs_of(inputs));
  attempt_link("serialization", [&] {
    save_and_load_npz(*link, *other);
    serializers::DictionarySerializer ours, theirs;
    link->serialize(ours);
    other->serialize(theirs);
    for (const auto& [path, parameter] : link->namedparams(false)) {
      assert_allclose(other->param(path).array(), parameter->array(), {.atol = 0, .rtol = 0});
    }
    const auto &a = ours.dictionary(), &b = theirs.dictionary();
    if (a.size() != b.size()) throw TestError("the loaded link has other entries");
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].first != b[i].first || a[i].second.text != b[i].second.text) {
        throw TestError("the entry '" + a[i].first + "' is another one after loading");
      }
      assert_allclose(b[i].second.array, a[i].second.array, {.atol = 0, .rtol = 0});
    }
  });
}

}  // namespace kusari::testing
