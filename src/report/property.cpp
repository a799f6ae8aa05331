#include "edgecompiler/report/property.h"

namespace ec {

Property::Property() = default;
Property::Property(const Property&) = default;
Property::Property(Property&&) noexcept = default;
Property& Property::operator=(const Property&) = default;
Property& Property::operator=(Property&&) noexcept = default;
Property::~Property() = default;

Property::Property(bool v) : value(v) {}
Property::Property(int v) : value(int64_t{v}) {}
Property::Property(int64_t v) : value(v) {}
Property::Property(double v) : value(v) {}
Property::Property(const char* v) : value(std::string(v)) {}
Property::Property(std::string v) : value(std::move(v)) {}
Property::Property(List v) : value(std::move(v)) {}
Property::Property(Record v) : value(std::move(v)) {}

Property Property::unsigned_number(uint64_t v) {
  Property property;
  property.value = v;
  return property;
}

}  // namespace ec
