#pragma once

KUSARI_API std::string to_string(const Shape& shape);
