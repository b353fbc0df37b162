#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <utility>

#include <kusari/kusari.h>

/// What a line of a banner says.
class BannerValue {
 public:
  BannerValue(int64_t number) : text_{std::to_string(number)} {}
  BannerValue(std::string text) : text_{std::move(text)} {}
  BannerValue(const kusari::Device& device) : text_{device.name()} {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// "NAME: VALUE" for each, without an empty line.
inline void print_lines(std::initializer_list<std::pair<const char*, BannerValue>> lines) {
  for (const auto& [name, value] : lines) std::printf("%s: %s\n", name, value.text().c_str());
}

/// What a program begins with: "NAME: VALUE" for each, and an empty line.
inline void print_banner(std::initializer_list<std::pair<const char*, BannerValue>> lines) {
  print_lines(lines);
  std::printf("\n");
}
