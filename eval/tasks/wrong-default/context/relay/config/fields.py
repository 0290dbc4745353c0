"""Kinds of settings. Each turns what a person wrote into what the relay uses."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Integer:
    default: int
    at_least: int
    at_most: int

    def read(self, value: int | None) -> int:
        number = self.default if value is None else value
        if not self.at_least <= number <= self.at_most:
            raise ValueError(f"must be from {self.at_least} to {self.at_most}")
        return number


class Milliseconds(Integer):
    """People write seconds."""

    def read(self, value: float | None) -> int:
        return super().read(None if value is None else round(value * 1000))


@dataclass(frozen=True)
class Address:
    default: str

    def read(self, value: str | None) -> str:
        return value or self.default
