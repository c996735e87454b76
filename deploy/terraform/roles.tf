# What the servers may do. Terraform makes tables and bucket, so that they need no action that makes or changes them.
data "aws_iam_policy_document" "server" {
  statement {
    sid = "Tables"
    actions = [
      "dynamodb:BatchGetItem",
      "dynamodb:BatchWriteItem",
      "dynamodb:ConditionCheckItem",
      "dynamodb:DeleteItem",
      "dynamodb:DescribeContinuousBackups",
      "dynamodb:DescribeTable",
      "dynamodb:DescribeTimeToLive",
      "dynamodb:GetItem",
      "dynamodb:PutItem",
      "dynamodb:Query",
      "dynamodb:Scan",
      "dynamodb:UpdateItem",
    ]
    resources = flatten([for table in aws_dynamodb_table.taggie : [table.arn, "${table.arn}/index/*"]])
  }

  statement {
    sid = "Bucket"
    actions = [
      "s3:GetBucketCORS",
      "s3:GetLifecycleConfiguration",
      "s3:ListBucket",
      "s3:ListBucketMultipartUploads",
    ]
    resources = [aws_s3_bucket.taggie.arn]
  }

  statement {
    sid = "Objects"
    actions = [
      "s3:AbortMultipartUpload",
      "s3:DeleteObject",
      "s3:GetObject",
      "s3:ListMultipartUploadParts",
      "s3:PutObject",
    ]
    resources = ["${aws_s3_bucket.taggie.arn}/*"]
  }
}

data "aws_iam_policy_document" "tasks" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"]
    }
  }
}

# The role of the program.
resource "aws_iam_role" "server" {
  name               = "${var.name}-server"
  assume_role_policy = data.aws_iam_policy_document.tasks.json
}

resource "aws_iam_role_policy" "server" {
  name   = "stores"
  role   = aws_iam_role.server.id
  policy = data.aws_iam_policy_document.server.json
}

# The role of ECS, which fetches the image and the secrets and writes the log.
resource "aws_iam_role" "start" {
  name               = "${var.name}-start"
  assume_role_policy = data.aws_iam_policy_document.tasks.json
}

resource "aws_iam_role_policy_attachment" "start" {
  role       = aws_iam_role.start.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"
}

data "aws_iam_policy_document" "start" {
  statement {
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [aws_secretsmanager_secret.secret.arn, aws_secretsmanager_secret.redis.arn]
  }
}

resource "aws_iam_role_policy" "start" {
  name   = "secrets"
  role   = aws_iam_role.start.id
  policy = data.aws_iam_policy_document.start.json
}
