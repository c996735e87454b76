# stores.json is what `taggie tables print` prints: the tables, and the rules of the bucket.
locals {
  stores = jsondecode(file("${path.module}/stores.json"))
}

resource "aws_dynamodb_table" "taggie" {
  for_each = local.stores.tables

  name                        = each.key
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = each.value.partition_key
  range_key                   = each.value.sort_key
  deletion_protection_enabled = true

  dynamic "attribute" {
    for_each = each.value.attributes
    content {
      name = attribute.key
      type = attribute.value
    }
  }

  dynamic "global_secondary_index" {
    for_each = each.value.global_indexes
    content {
      name               = global_secondary_index.key
      hash_key           = global_secondary_index.value.partition_key
      range_key          = global_secondary_index.value.sort_key
      projection_type    = global_secondary_index.value.projection
      non_key_attributes = length(global_secondary_index.value.included) > 0 ? global_secondary_index.value.included : null
    }
  }

  dynamic "local_secondary_index" {
    for_each = each.value.local_indexes
    content {
      name               = local_secondary_index.key
      range_key          = local_secondary_index.value.sort_key
      projection_type    = local_secondary_index.value.projection
      non_key_attributes = length(local_secondary_index.value.included) > 0 ? local_secondary_index.value.included : null
    }
  }

  dynamic "ttl" {
    for_each = each.value.time_to_live == "" ? [] : [each.value.time_to_live]
    content {
      enabled        = true
      attribute_name = ttl.value
    }
  }

  point_in_time_recovery {
    enabled = true
  }

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3_bucket" "taggie" {
  bucket = var.bucket

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3_bucket_public_access_block" "taggie" {
  bucket                  = aws_s3_bucket.taggie.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_cors_configuration" "taggie" {
  count = length(var.allowed_origins) > 0 ? 1 : 0

  bucket = aws_s3_bucket.taggie.id

  cors_rule {
    id              = local.stores.bucket.cors.id
    allowed_origins = var.allowed_origins
    allowed_methods = local.stores.bucket.cors.methods
    allowed_headers = local.stores.bucket.cors.headers
    expose_headers  = local.stores.bucket.cors.exposed
    max_age_seconds = local.stores.bucket.cors.max_age_seconds
  }
}

resource "aws_s3_bucket_versioning" "taggie" {
  bucket = aws_s3_bucket.taggie.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "taggie" {
  bucket     = aws_s3_bucket.taggie.id
  depends_on = [aws_s3_bucket_versioning.taggie]

  # What was deleted can be brought back for as long as the point-in-time recovery of the tables goes back.
  rule {
    id     = "expire-deleted"
    status = "Enabled"

    filter {
      prefix = ""
    }

    noncurrent_version_expiration {
      noncurrent_days = 35
    }

    expiration {
      expired_object_delete_marker = true
    }
  }

  dynamic "rule" {
    for_each = local.stores.bucket.lifecycle
    content {
      id     = rule.key
      status = "Enabled"

      filter {
        prefix = rule.value.prefix
      }

      dynamic "expiration" {
        for_each = rule.value.expires_after_days > 0 ? [rule.value.expires_after_days] : []
        content {
          days = expiration.value
        }
      }

      dynamic "abort_incomplete_multipart_upload" {
        for_each = rule.value.aborts_after_days > 0 ? [rule.value.aborts_after_days] : []
        content {
          days_after_initiation = abort_incomplete_multipart_upload.value
        }
      }
    }
  }
}
