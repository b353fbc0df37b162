#include "kusari/examples/common/flags.h"

#include <any>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>

#include <CLI/CLI.hpp>

// The one source that reads CLI11: it takes longer to compile than a program of this folder.

namespace {

/// The command line that is being read, or has been.
struct Reading {
  CLI::App parser;
  bool is_read = false;
  std::deque<std::any> values = {};  // which stay where they are
  size_t next = 0;
  std::vector<std::function<void()>> rules = {};
};

Reading* current = nullptr;

Flags::Rule checked(CLI::Validator validator) {
  return [v = std::move(validator)](CLI::App&, CLI::Option& option) { option.check(v); };
}

}  // namespace

Flags::Rule Flags::between(int low, int high) { return checked(CLI::Range(low, high)); }
Flags::Rule Flags::between(double low, double high) { return checked(CLI::Range(low, high)); }
Flags::Rule Flags::positive() { return checked(CLI::PositiveNumber); }
Flags::Rule Flags::not_negative() { return checked(CLI::NonNegativeNumber); }
Flags::Rule Flags::one_of(const std::vector<std::string>& words) { return checked(CLI::IsMember(words)); }
Flags::Rule Flags::one_of(std::initializer_list<std::string> words) { return checked(CLI::IsMember(words)); }
Flags::Rule Flags::one_of(std::initializer_list<int64_t> numbers) { return checked(CLI::IsMember(numbers)); }
Flags::Rule Flags::positive_or(std::initializer_list<std::string> words) {
  return checked(CLI::IsMember(words) | CLI::PositiveNumber);
}
Flags::Rule Flags::required() {
  return [](CLI::App&, CLI::Option& option) { option.required(); };
}
Flags::Rule Flags::needs(const char* other) {
  return [other](CLI::App& parser, CLI::Option& option) { option.needs(parser.get_option(other)); };
}
Flags::Rule Flags::excludes(const char* other) {
  return [other](CLI::App& parser, CLI::Option& option) { option.excludes(parser.get_option(other)); };
}
Flags::Rule Flags::hidden() {
  return [](CLI::App&, CLI::Option& option) { option.group(""); };
}

int64_t Flags::seed_flag() {
  const auto seed = value<std::string>("--seed", "", "Seed of the random numbers; runs with the same one are the same",
                                       not_negative());
  if (!is_read() || seed.empty()) return -1;
  kusari::random::seed(std::stoull(seed));
  return std::stoll(seed);
}

bool Flags::is_given(const std::string& name) { return current->parser.count(name) > 0; }
bool Flags::is_read() { return current->is_read; }

template <class T>
T Flags::declare(const std::string& names, T otherwise, const std::string& help, std::vector<Rule> rules) {
  Reading& reading = *current;
  if (reading.is_read) return std::any_cast<T>(reading.values[reading.next++]);
  T& held = reading.values.emplace_back(otherwise).template emplace<T>(otherwise);
  CLI::Option* option = nullptr;
  if constexpr (std::is_same_v<T, bool>) {
    option = reading.parser.add_flag(names, held, help);
  } else {
    option = reading.parser.add_option(names, held, help);
    bool shows_default = true;
    if constexpr (requires { held.empty(); }) shows_default = !held.empty();
    if (shows_default) option->capture_default_str();
  }
  for (Rule& rule : rules) {
    reading.rules.push_back([&reading, option, r = std::move(rule)] { r(reading.parser, *option); });
  }
  return otherwise;
}

template bool Flags::declare(const std::string&, bool, const std::string&, std::vector<Rule>);
template int Flags::declare(const std::string&, int, const std::string&, std::vector<Rule>);
template int64_t Flags::declare(const std::string&, int64_t, const std::string&, std::vector<Rule>);
template uint64_t Flags::declare(const std::string&, uint64_t, const std::string&, std::vector<Rule>);
template double Flags::declare(const std::string&, double, const std::string&, std::vector<Rule>);
template std::string Flags::declare(const std::string&, std::string, const std::string&, std::vector<Rule>);
template std::vector<int64_t> Flags::declare(const std::string&, std::vector<int64_t>, const std::string&,
                                             std::vector<Rule>);
template std::vector<double> Flags::declare(const std::string&, std::vector<double>, const std::string&,
                                            std::vector<Rule>);
template std::vector<std::string> Flags::declare(const std::string&, std::vector<std::string>, const std::string&,
                                                 std::vector<Rule>);

int Flags::run(int argc, char** argv, const std::string& description, const std::function<void()>& declare,
               const std::function<int()>& program) {
  Reading reading{CLI::App(description)};
  current = &reading;
  try {
    declare();
    for (const auto& rule : reading.rules) rule();
    reading.parser.parse(argc, argv);
    reading.is_read = true;
    return program();
  } catch (const CLI::ParseError& error) {
    return reading.parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", std::filesystem::path(argv[0]).stem().c_str(), error.what());
    return 1;
  }
}
