# Taggie on AWS: tables, bucket, Redis, roles, and two servers behind a load balancer. docs/deploying.md has the steps.
terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.80"
    }
    random = {
      source  = "hashicorp/random"
      version = "~> 3.6"
    }
  }
}

provider "aws" {
  region = var.region

  default_tags {
    tags = { Application = var.name }
  }
}
